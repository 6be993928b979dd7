// Signs one good and one expired token per algorithm with npm `jose`, an independent implementation.
// Prints {"jwks": {...}, "tokens": [{"alg", "token", "expired"}]}. Usage: node sign_jose.mjs ISSUER AUDIENCE
import { SignJWT, exportJWK, generateKeyPair, generateSecret } from 'jose';

const [issuer, audience] = process.argv.slice(2);
const algorithms = ['HS256', 'HS384', 'HS512', 'RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384',
  'ES512', 'EdDSA', 'Ed25519'];
const now = Math.floor(Date.now() / 1000);
const jwks = { keys: [] };
const tokens = [];

for (const alg of algorithms) {
  const symmetric = alg.startsWith('HS');
  const pair = symmetric ? null : await generateKeyPair(alg, { extractable: true });
  const signer = symmetric ? await generateSecret(alg, { extractable: true }) : pair.privateKey;
  const kid = `jose-${alg}`;
  jwks.keys.push({ ...(await exportJWK(symmetric ? signer : pair.publicKey)), kid, alg, use: 'sig' });
  for (const expired of [false, true]) {
    const token = await new SignJWT({ scope: 'read', name: 'Zoë \u{1F600}' })
      .setProtectedHeader({ alg, kid, typ: 'JWT' })
      .setIssuer(issuer).setAudience([audience, 'other']).setSubject('interop')
      .setIssuedAt(now - 7200).setExpirationTime(expired ? now - 3600 : now + 3600)
      .sign(signer);
    tokens.push({ alg, token, expired });
  }
}
console.log(JSON.stringify({ jwks, tokens }));

// A real OpenID provider on loopback: discovery, JWKS with RSA, P-256 and Ed25519 keys, and JWT access tokens by
// client credentials. Listens on a port that the system chooses, and prints one JSON line when it does.
import { createServer } from 'node:http';
import { once } from 'node:events';
import { generateKeyPair, exportJWK } from 'jose';
import Provider from 'oidc-provider';

// The port is part of the issuer's name, so it comes first.
const server = createServer();
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const issuer = `http://127.0.0.1:${server.address().port}`;

const keys = [];
for (const alg of ['RS256', 'ES256', 'EdDSA']) {
  const { privateKey } = await generateKeyPair(alg, { extractable: true });
  keys.push({ ...(await exportJWK(privateKey)), alg, use: 'sig', kid: `${alg}-key` });
}

const provider = new Provider(issuer, {
  jwks: { keys },
  clients: [{
    client_id: 'interop', client_secret: 'interop-secret', redirect_uris: [], response_types: [],
    grant_types: ['client_credentials'], token_endpoint_auth_method: 'client_secret_post',
  }],
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: (_ctx, indicator) => ({
        scope: 'read write', audience: 'interop-api', accessTokenFormat: 'jwt', accessTokenTTL: 600,
        jwt: { sign: { alg: indicator.replace(/^urn:/, '') } },
      }),
    },
  },
  scopes: ['read', 'write'],
  ttl: { ClientCredentials: 600 },
});

server.on('request', provider.callback());
console.log(JSON.stringify({ issuer, token_endpoint: `${issuer}/token` }));

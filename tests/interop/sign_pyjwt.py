"""Signs one good and one expired token per algorithm with PyJWT, an independent implementation.

Prints {"jwks": {...}, "tokens": [{"alg", "token", "expired"}]}. Usage: python sign_pyjwt.py ISSUER AUDIENCE
"""

import base64
import json
import secrets
import sys
import time

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import get_default_algorithms

ISSUER, AUDIENCE = sys.argv[1:3]
NOW = int(time.time())
CURVES = {"ES256": ec.SECP256R1, "ES384": ec.SECP384R1, "ES512": ec.SECP521R1, "ES256K": ec.SECP256K1}
ALGORITHMS = [f"{family}{bits}" for family in ("HS", "RS", "PS") for bits in (256, 384, 512)]
ALGORITHMS += [*CURVES, "EdDSA"]

rsa_key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
keys, tokens = [], []
for alg in ALGORITHMS:
    kid = f"pyjwt-{alg}"
    if alg.startswith("HS"):
        signer = secrets.token_bytes(64)
        jwk = {"kty": "oct", "k": base64.urlsafe_b64encode(signer).rstrip(b"=").decode()}
    else:
        if alg in CURVES:
            signer = ec.generate_private_key(CURVES[alg]())
        elif alg == "EdDSA":
            signer = ed25519.Ed25519PrivateKey.generate()
        else:
            signer = rsa_key
        jwk = get_default_algorithms()[alg].to_jwk(signer.public_key(), as_dict=True)
        jwk.pop("key_ops", None)
    keys.append({**jwk, "kid": kid, "alg": alg, "use": "sig"})
    for expired in (False, True):
        claims = {
            "iss": ISSUER,
            "aud": AUDIENCE,
            "sub": "interop",
            "iat": NOW - 7200,
            "exp": NOW - 3600 if expired else NOW + 3600,
            "nested": {"list": [1, 2.5, None, True, "\u00e9"]},
        }
        tokens.append({"alg": alg, "token": jwt.encode(claims, signer, alg, headers={"kid": kid}), "expired": expired})

json.dump({"jwks": {"keys": keys}, "tokens": tokens}, sys.stdout)

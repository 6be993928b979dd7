//! How messages that carry tokens, payloads or keys show themselves: by their length. Whoever has a token can use it.

use std::fmt::{Debug, Formatter, Result};

use super::proto::{Accepted, VerifyRequest, VerifySignatureRequest, verify_signature_request::Key};

impl Debug for VerifyRequest {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.debug_struct("VerifyRequest")
            .field("token", &format_args!("{} bytes", self.token.len()))
            .field("issuer", &self.issuer)
            .field("audience", &self.audience)
            .finish()
    }
}

impl Debug for Accepted {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.debug_struct("Accepted")
            .field("issuer_name", &self.issuer_name)
            .field("algorithm", &self.algorithm)
            .field("key_id", &self.key_id)
            .field("claims", &format_args!("{} bytes", self.claims.len()))
            .finish_non_exhaustive()
    }
}

impl Debug for VerifySignatureRequest {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.debug_struct("VerifySignatureRequest")
            .field("algorithm", &self.algorithm)
            .field("message", &format_args!("{} bytes", self.message.len()))
            .field("signature", &format_args!("{} bytes", self.signature.len()))
            .field("key", &self.key)
            .finish()
    }
}

impl Debug for Key {
    /// A JWK may be a secret.
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::KeyReference(reference) => f.debug_tuple("KeyReference").field(reference).finish(),
            Self::Jwk(_) => f.write_str("Jwk(..)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grpc::proto::{
        VerifyAnswer, VerifyBatchRequest, VerifyResponse, VerifyStreamRequest, verify_answer, verify_response,
    };

    #[test]
    fn no_message_shows_a_token_a_payload_or_a_key() {
        let secret = || "s3cret".to_owned();
        let request = VerifyRequest { token: secret(), issuer: Some("i".to_owned()), audience: None };
        let accepted = Accepted {
            issuer_name: "i".to_owned(),
            issuer: Some(secret()),
            subject: Some(secret()),
            claims: secret().into(),
            ..Accepted::default()
        };
        let signature = VerifySignatureRequest {
            algorithm: "HS256".to_owned(),
            message: secret().into(),
            signature: secret().into(),
            key: Some(Key::Jwk(secret())),
        };
        let answer = verify_answer::Answer::Accepted(accepted.clone());
        for shown in [
            format!("{:?}", VerifyBatchRequest { requests: vec![request.clone()] }),
            format!("{:?}", VerifyStreamRequest { id: 1, request: Some(request.clone()) }),
            format!("{request:?}"),
            format!("{:?}", VerifyAnswer { answer: Some(answer) }),
            format!("{:?}", VerifyResponse { verdict: Some(verify_response::Verdict::Accepted(accepted)) }),
            format!("{signature:?}"),
        ] {
            assert!(!shown.contains("s3cret") && !shown.contains("115, 51"), "{shown}");
            assert!(shown.contains("6 bytes"), "{shown}");
        }
    }
}

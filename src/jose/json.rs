//! Strict JSON (RFC 8259): the only reader of JSON in headers, claims and key sets.
//!
//! Stricter than the RFC where the RFC leaves a choice: duplicate member names are refused at every depth (compared
//! after unescaping), depth, member count and number length are capped, lone surrogate escapes are refused.

//! `verilane mint`: signs tokens for tests.

use std::io::{BufWriter, Write as _};
use std::path::Path;

use serde_json::{Map, Value};

use super::EXIT_ACCEPTED;
use super::cli::MintArguments;
use super::failure::{Failure, Outcome};
use super::minting::SigningKey;
use super::sources::read_named_file;
use crate::faces::unix_now;
use crate::keys::source::trim_line_end;

/// The largest key or claims file that is read.
const FILE_MAX: usize = 1024 * 1024;

pub(super) fn run(arguments: &MintArguments) -> Outcome {
    let key = read_key(arguments)?;
    let now = arguments.now.unwrap_or_else(unix_now);
    let mut claims = claims(arguments, now)?;
    let mut header = Map::new();
    if !arguments.typ.is_empty() {
        header.insert("typ".to_owned(), arguments.typ.as_str().into());
    }
    let key_id = arguments.kid.as_deref().or(key.key_id()).filter(|key_id| !key_id.is_empty());
    if let Some(key_id) = key_id {
        header.insert("kid".to_owned(), key_id.into());
    }

    let mut out = BufWriter::new(std::io::stdout().lock());
    let failed = |error: std::io::Error| Failure::output(&error);
    for number in 1..=arguments.count {
        if arguments.count > 1 {
            claims.insert("jti".to_owned(), number.to_string().into());
        }
        writeln!(out, "{}", key.mint(header.clone(), &claims)?).map_err(failed)?;
    }
    out.flush().map_err(failed)?;
    Ok(EXIT_ACCEPTED)
}

fn read_key(arguments: &MintArguments) -> Result<SigningKey, Failure> {
    let document = read_named_file(&arguments.key, FILE_MAX)?;
    let wanted = arguments.alg.map(|name| name.0);
    if arguments.secret {
        return Ok(SigningKey::from_secret(trim_line_end(&document), wanted)?);
    }
    SigningKey::from_document(&document, wanted).map_err(|error| {
        let failure = Failure::new(format!("{}: {error}", arguments.key.display()));
        match error {
            super::minting::SigningError::Unreadable(_) => {
                failure.hint("`verilane keygen` makes keys; --secret reads an HMAC secret")
            }
            _ => failure,
        }
    })
}

fn claims(arguments: &MintArguments, now: i64) -> Result<Map<String, Value>, Failure> {
    let mut claims = match &arguments.claims {
        Some(text) => read_claims(text)?,
        None => Map::new(),
    };
    claims.entry("iat").or_insert_with(|| now.into());
    if !arguments.no_expiry {
        let ttl = i64::try_from(arguments.ttl.0.as_secs()).unwrap_or(i64::MAX);
        claims.entry("exp").or_insert_with(|| now.saturating_add(ttl).into());
    }
    for (name, value) in [("iss", &arguments.iss), ("sub", &arguments.sub)] {
        if let Some(value) = value {
            claims.insert(name.to_owned(), value.as_str().into());
        }
    }
    match arguments.aud.as_slice() {
        [] => {}
        [one] => drop(claims.insert("aud".to_owned(), one.as_str().into())),
        several => drop(claims.insert("aud".to_owned(), several.to_vec().into())),
    }
    for claim in &arguments.claim {
        let Some((name, value)) = claim.split_once('=') else {
            return Err(Failure::new(format!("--claim {claim}: no `=`")).hint("write --claim NAME=VALUE"));
        };
        let value = serde_json::from_str(value).unwrap_or_else(|_| value.into());
        claims.insert(name.to_owned(), value);
    }
    Ok(claims)
}

fn read_claims(text: &str) -> Result<Map<String, Value>, Failure> {
    let text = match text.strip_prefix('@') {
        Some(path) => read_named_file(Path::new(path), FILE_MAX)?,
        None => zeroize::Zeroizing::new(text.as_bytes().to_vec()),
    };
    serde_json::from_slice(&text).map_err(|error| {
        Failure::new(format!("--claims is not a JSON object: {error}"))
            .hint("quote it for the shell: '{\"sub\":\"x\"}'")
    })
}

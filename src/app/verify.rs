//! `verilane verify`: tokens from arguments, a file or standard input, judged by the same code as the service.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use serde_json::{Value, json};

use super::cli::{KeyArguments, VerifyArguments};
use super::failure::{Failure, Outcome, tell};
use super::lines::{Item, Items, plain};
use super::sources::{self, read_named_file};
use super::{EXIT_ACCEPTED, EXIT_ERROR, EXIT_REJECTED};
use crate::api;
use crate::config::{self, Settings};
use crate::engine::Context;
use crate::faces::unix_now;
use crate::jose::{Algorithm, NumericDate};
use crate::keys::prepare::{self, DocumentLimits, Origin};
use crate::keys::source::trim_line_end;
use crate::keys::{IssuerKeys, KeySet, KeySetReport, VerifyingKey};
use crate::policy::Policy;
use crate::verify::{Error, Explanation, IssuerEntry, StepStatus, TokenRequest, Verdict, Verifier, VerifierOptions};

/// Tokens that are verified together: enough to fill lane groups, little enough to answer while input still comes.
const BATCH: usize = 256;
/// Bytes of input that are read at once.
const READ_BUFFER: usize = 128 * 1024;

pub(super) fn run(arguments: &VerifyArguments) -> Outcome {
    let settings = match &arguments.keys.config {
        Some(file) => config::load(Some(file), super::environment(), &[])?,
        None => Settings::default(),
    };
    let forced = if arguments.kernel.is_empty() { &settings.engine.kernels } else { &arguments.kernel };
    let (kernels, _) = super::cpu::tested_kernels(forced)?;
    let verifier = verifier(arguments, &settings)?;
    let out = BufWriter::with_capacity(64 * 1024, io::stdout().lock());
    let session = Session {
        arguments,
        verifier,
        context: Context::new(&kernels),
        now: arguments.now.unwrap_or_else(unix_now),
        tally: Tally::default(),
        out,
    };
    let token_max = settings.limits.token.bytes();
    let from_input = || Items::new(BufReader::with_capacity(READ_BUFFER, io::stdin()), token_max);
    match (&arguments.file, arguments.tokens.as_slice()) {
        (Some(path), _) if path != Path::new("-") => {
            let file =
                File::open(path).map_err(|error| Failure::new(format!("cannot read {}: {error}", path.display())))?;
            session.stream(&mut Items::new(BufReader::with_capacity(READ_BUFFER, file), token_max))
        }
        (Some(_), _) => session.stream(&mut from_input()),
        (None, [only]) if only == "-" => session.stream(&mut from_input()),
        (None, tokens) => session.few(tokens),
    }
}

/// How many ended how.
#[derive(Default)]
struct Tally {
    accepted: u64,
    rejected: u64,
    errors: u64,
}

impl Tally {
    fn count(&mut self, answer: &Result<Verdict, Error>) {
        match answer {
            Ok(Verdict::Accepted(_)) => self.accepted += 1,
            Ok(Verdict::Rejected(_)) => self.rejected += 1,
            Err(_) => self.errors += 1,
        }
    }

    const fn is_empty(&self) -> bool {
        self.accepted == 0 && self.rejected == 0 && self.errors == 0
    }

    fn exit_code(&self) -> u8 {
        match (self.errors, self.rejected) {
            (0, 0) => EXIT_ACCEPTED,
            (0, _) => EXIT_REJECTED,
            _ => EXIT_ERROR,
        }
    }
}

struct Session<'a, W> {
    arguments: &'a VerifyArguments,
    verifier: Verifier,
    context: Context,
    now: i64,
    tally: Tally,
    out: W,
}

/// What is known of a line besides the request.
struct Asked {
    number: u64,
    id: Option<String>,
}

impl<W: Write> Session<'_, W> {
    /// Tokens given as arguments.
    fn few(mut self, tokens: &[String]) -> Outcome {
        let explain = self.arguments.explain || tokens.len() == 1 && !self.arguments.json;
        for (index, token) in tokens.iter().enumerate() {
            let asked = Asked { number: index as u64 + 1, id: None };
            let item = plain(Bytes::copy_from_slice(token.trim().as_bytes()));
            self.one(asked, item, explain).map_err(|error| Failure::verdict_output(&error))?;
        }
        self.end(tokens.len() > 1)
    }

    /// Tokens one a line, in batches, with flat memory. When input pauses, what has come is answered.
    fn stream<R: Read>(mut self, items: &mut Items<R>) -> Outcome {
        let written = |error: io::Error| Failure::verdict_output(&error);
        let mut asked = Vec::with_capacity(BATCH);
        let mut requests = Vec::with_capacity(BATCH);
        loop {
            let next = items.next().map_err(|error| Failure::new(format!("cannot read the tokens: {error}")))?;
            let about = |id| Asked { number: items.number(), id };
            match next {
                Some(item) if self.arguments.explain => self.one(about(None), item, true).map_err(written)?,
                Some(Item::Token { id, token, issuer, audience }) => {
                    asked.push(about(id));
                    requests.push(self.request(token, issuer, audience));
                    if requests.len() == BATCH || !items.has_line() {
                        self.batch(&mut asked, &mut requests).map_err(written)?;
                    }
                }
                Some(Item::Unreadable(why)) => {
                    self.batch(&mut asked, &mut requests).map_err(written)?;
                    self.unreadable(&about(None), &why).map_err(written)?;
                }
                None => {
                    self.batch(&mut asked, &mut requests).map_err(written)?;
                    break;
                }
            }
        }
        if self.tally.is_empty() {
            return Err(Failure::new("no tokens in the input").hint("one token a line, or {\"token\": \"...\"}"));
        }
        self.end(true)
    }

    fn end(mut self, several: bool) -> Outcome {
        self.out.flush().map_err(|error| Failure::verdict_output(&error))?;
        if several && !self.arguments.json {
            let Tally { accepted, rejected, errors } = self.tally;
            tell(format_args!("{accepted} accepted, {rejected} rejected, {errors} errors"));
        }
        Ok(self.tally.exit_code())
    }

    fn request(&self, token: Bytes, issuer: Option<String>, audience: Option<String>) -> TokenRequest {
        let with_config = self.arguments.keys.config.is_some();
        let named = |argument: Option<&String>| if with_config { argument.cloned() } else { None };
        TokenRequest {
            token,
            issuer: issuer.or_else(|| named(self.arguments.issuer.as_ref())),
            audience: audience.or_else(|| named(self.arguments.audience.first())),
            now: self.now,
            deadline: None,
        }
    }

    fn batch(&mut self, asked: &mut Vec<Asked>, requests: &mut Vec<TokenRequest>) -> io::Result<()> {
        let mut answers = Vec::with_capacity(requests.len());
        self.verifier.verify_batch(&mut self.context, requests, Instant::now(), &mut answers);
        requests.clear();
        for (asked, answer) in asked.drain(..).zip(&answers) {
            self.tally.count(answer);
            self.line(&asked, answer)?;
        }
        self.out.flush()
    }

    fn one(&mut self, asked: Asked, item: Item, explain: bool) -> io::Result<()> {
        let (id, token, issuer, audience) = match item {
            Item::Token { id, token, issuer, audience } => (id, token, issuer, audience),
            Item::Unreadable(why) => return self.unreadable(&asked, &why),
        };
        let asked = Asked { id: id.or(asked.id), ..asked };
        let request = self.request(token, issuer, audience);
        if !explain {
            let answer = self.verifier.verify(&mut self.context, &request, Instant::now());
            self.tally.count(&answer);
            return self.line(&asked, &answer);
        }
        let explanation = self.verifier.explain(&mut self.context, &request, Instant::now());
        self.tally.count(&explanation.verdict);
        if self.arguments.json {
            self.explained_json(&asked, &explanation)
        } else {
            self.explained_text(&asked, &explanation)
        }
    }

    fn unreadable(&mut self, asked: &Asked, why: &str) -> io::Result<()> {
        self.tally.errors += 1;
        if self.arguments.json {
            let line = json!({ "verdict": "error", "error": "request_invalid", "detail": why, "line": asked.number });
            writeln!(self.out, "{line}")
        } else {
            writeln!(self.out, "{}: error request_invalid: {why}", asked.number)
        }
    }

    fn line(&mut self, asked: &Asked, answer: &Result<Verdict, Error>) -> io::Result<()> {
        if self.arguments.json {
            let mut line = Vec::with_capacity(256);
            api::write_token_answer(&mut line, asked.id.as_deref(), answer);
            line.push(b'\n');
            return self.out.write_all(&line);
        }
        let label = asked.id.clone().unwrap_or_else(|| asked.number.to_string());
        match answer {
            Ok(Verdict::Accepted(accepted)) => {
                // Quoted values are the token's; words without quotes are ours.
                let quoted = |value: Option<&str>| value.map_or("none".to_owned(), |value| format!("{value:?}"));
                let key = quoted(accepted.key_id.as_deref());
                let subject = quoted(accepted.subject.as_deref());
                writeln!(self.out, "{label}: accepted {} kid {key} subject {subject}", accepted.algorithm)
            }
            Ok(Verdict::Rejected(rejection)) => {
                writeln!(self.out, "{label}: rejected {}: {}", api::reason_code(rejection.reason), rejection.detail)
            }
            Err(error) => writeln!(self.out, "{label}: error {}: {error}", api::error_code(*error)),
        }
    }

    fn explained_json(&mut self, asked: &Asked, explanation: &Explanation) -> io::Result<()> {
        let mut line = Vec::with_capacity(1024);
        api::write_token_answer(&mut line, asked.id.as_deref(), &explanation.verdict);
        let steps: Vec<Value> = explanation
            .steps
            .iter()
            .map(|step| json!({ "step": step.name, "status": status(step.status), "detail": step.detail }))
            .collect();
        // The answer is one JSON object; the steps become its last member.
        line.pop();
        write!(line, ",\"steps\":{}}}", Value::Array(steps))?;
        line.push(b'\n');
        self.out.write_all(&line)
    }

    fn explained_text(&mut self, asked: &Asked, explanation: &Explanation) -> io::Result<()> {
        let out = &mut self.out;
        if asked.number > 1 {
            writeln!(out)?;
        }
        match &explanation.verdict {
            Ok(Verdict::Accepted(accepted)) => {
                writeln!(out, "accepted")?;
                writeln!(out, "  algorithm  {}", accepted.algorithm)?;
                if let Some(key_id) = &accepted.key_id {
                    writeln!(out, "  key        {key_id:?}")?;
                }
                if let Some(issuer) = &accepted.issuer {
                    writeln!(out, "  issuer     {issuer:?}")?;
                }
                if let Some(subject) = &accepted.subject {
                    writeln!(out, "  subject    {subject:?}")?;
                }
                if let Some(expires_at) = accepted.expires_at {
                    writeln!(out, "  expires    {}", date(expires_at, self.now))?;
                }
            }
            Ok(Verdict::Rejected(rejection)) => {
                writeln!(out, "rejected: {}", api::reason_code(rejection.reason))?;
                writeln!(out, "  {}", rejection.detail)?;
            }
            Err(error) => writeln!(out, "error: {}\n  {error}", api::error_code(*error))?,
        }
        writeln!(out, "checks")?;
        for step in &explanation.steps {
            // Details may quote the token: control characters in it stay out of the terminal.
            let line = format!("  {:<4} {:<18} {}", status(step.status), step.name, printable(&step.detail));
            writeln!(out, "{}", line.trim_end())?;
        }
        if let Some(header) = &explanation.header {
            writeln!(out, "header\n  {}", printable(header))?;
        }
        if let Some(claims) = &explanation.claims {
            let heading = match &explanation.verdict {
                Ok(Verdict::Accepted(_)) => "claims",
                _ => "claims (not to be trusted)",
            };
            writeln!(out, "{heading}\n  {}", printable(claims))?;
        }
        Ok(())
    }
}

const fn status(status: StepStatus) -> &'static str {
    match status {
        StepStatus::Passed => "pass",
        StepStatus::Failed => "FAIL",
        StepStatus::NotReached => "-",
    }
}

/// Text from a token, with control characters escaped.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { c.escape_default().to_string() } else { c.to_string() }).collect()
}

fn date(date: NumericDate, now: i64) -> String {
    let seconds = u64::try_from(date.seconds).unwrap_or(0);
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
    let left = date.seconds.saturating_sub(now);
    let distance = humantime::format_duration(std::time::Duration::from_secs(left.unsigned_abs()));
    let distance = if left >= 0 { format!("in {distance}") } else { format!("{distance} ago") };
    format!("{} ({distance})", humantime::format_rfc3339_seconds(time))
}

fn verifier(arguments: &VerifyArguments, settings: &Settings) -> Result<Verifier, Failure> {
    let options = VerifierOptions { limits: settings.limits.limits(), candidates_max: settings.limits.candidates_max };
    let entries = if arguments.keys.config.is_some() {
        if arguments.audience.len() > 1 {
            return Err(Failure::new("with --config give one --audience: the configuration has the others"));
        }
        sources::load_all(settings)?
    } else {
        vec![ad_hoc(arguments, settings)?]
    };
    Verifier::new(entries, options).map_err(Failure::new)
}

/// One issuer made of flags.
fn ad_hoc(arguments: &VerifyArguments, settings: &Settings) -> Result<IssuerEntry, Failure> {
    let algorithms: Vec<Algorithm> = arguments.alg.iter().map(|name| name.0).collect();
    if arguments.leeway.is_some_and(|leeway| leeway.0.subsec_nanos() != 0) {
        return Err(Failure::new("--leeway is not a whole number of seconds"));
    }
    let keys = match &arguments.keys.jwks {
        Some(url) if url.starts_with("https://") || url.starts_with("http://") => sources::fetch_once(url, settings)?,
        _ => {
            let (keys, report) = local_keys(&arguments.keys, arguments.secret, &algorithms)?;
            for line in report.warnings.iter().chain(&report.skipped) {
                tell(format_args!("warning: {line}"));
            }
            IssuerKeys::fixed(KeySet::new(keys))
        }
    };
    Ok(IssuerEntry {
        name: Arc::from("command-line"),
        policy: Policy {
            issuer: arguments.issuer.clone(),
            algorithms,
            audiences: arguments.audience.clone(),
            required_claims: arguments.require.clone(),
            types: arguments.typ.clone(),
            leeway_s: arguments.leeway.map_or(0, |leeway| leeway.0.as_secs()),
            require_expiry: !arguments.allow_missing_expiry,
            max_lifetime_s: None,
        },
        keys,
    })
}

fn local_keys(
    arguments: &KeyArguments,
    is_secret: bool,
    algorithms: &[Algorithm],
) -> Result<(Vec<VerifyingKey>, KeySetReport), Failure> {
    let limits = DocumentLimits::default();
    let file = match (&arguments.jwks, &arguments.key) {
        (Some(jwks), _) => Path::new(jwks),
        (None, Some(key)) => key,
        (None, None) => return Err(Failure::new("no keys").hint("give --jwks, --key or --config")),
    };
    let document = read_named_file(file, limits.bytes)?;
    let named = |error: prepare::PrepareError| Failure::new(format!("{}: {error}", file.display()));
    if is_secret {
        let key = prepare::from_secret(trim_line_end(&document), algorithms).map_err(named)?;
        return Ok((vec![key], KeySetReport::default()));
    }
    if document.trim_ascii_start().starts_with(b"{") {
        let (set, report) = prepare::from_document(&document, Origin::Local, &limits).map_err(named)?;
        return Ok((set.keys().to_vec(), report));
    }
    if !document.windows(11).any(|window| window == b"-----BEGIN ") {
        return Err(Failure::new(format!("{} is neither JSON nor PEM", file.display()))
            .hint("an HMAC secret needs --secret beside --key"));
    }
    prepare::from_pem(&document).map_err(named)
}

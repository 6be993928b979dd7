//! The conformance runner: every `*.json` under `../shared/vectors` or `$VERILANE_VECTORS`, each case with its key
//! loaded as a user's would be, through every available backend, alone in file order, alone in shuffled order, in
//! batches and through a shard's engine. All ways have to agree with each other, reason for reason, and with the
//! suite; what disagrees with the suite has to stand in `docs/conformance.md` with its reason.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use verilane::engine::Context;
use verilane::jose::{Algorithm, Limits, base64url};
use verilane::kernel::{KernelTable, REGISTRY};
use verilane::keys::prepare::{DocumentLimits, Origin, from_document, from_pem, from_secret};
use verilane::keys::{IssuerKeys, KeySet, VerifyingKey};
use verilane::policy::Policy;
use verilane::verify::{
    Error, IssuerEntry, Reason, SignatureKey, SignatureRequest, SignatureVerdict, TokenRequest, Verdict, Verifier,
    VerifierOptions,
};

use crate::support::random::Random;

/// Capabilities that we lack by choice (docs/conformance.md says why).
const LACKING: [&str; 2] = ["ecdsa-der-api", "detached-payload-api"];

#[derive(Deserialize)]
struct Suite {
    suite: String,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    id: String,
    kind: Kind,
    alg: Option<String>,
    key: CaseKey,
    token: Option<String>,
    token_hex: Option<String>,
    msg_hex: Option<String>,
    sig_hex: Option<String>,
    policy: CasePolicy,
    expect: Expect,
    #[serde(default)]
    requires: Vec<String>,
    batch: Option<String>,
    lane: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    Jws,
    RawSignature,
    Jwks,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Expect {
    Valid,
    Invalid,
    Acceptable,
}

#[derive(Deserialize)]
struct CaseKey {
    format: String,
    value: Box<RawValue>,
}

impl CaseKey {
    fn text(&self) -> String {
        serde_json::from_str(self.value.get()).expect("a key of this format is a string")
    }
}

/// What a case asks of the verifier. Unknown members are errors: a setting that is passed over would weaken the case.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CasePolicy {
    #[serde(default = "yes")]
    claims: bool,
    #[serde(default)]
    issuer: OneOrMany,
    #[serde(default)]
    audience: OneOrMany,
    now: Option<i64>,
    #[serde(default)]
    leeway: u64,
    #[serde(default)]
    required: Vec<String>,
    #[serde(default)]
    algorithms: Vec<String>,
    typ: Option<String>,
    max_token_bytes: Option<usize>,
}

impl CasePolicy {
    /// The allow list. No list means the thirteen algorithms of RFC 7518 and RFC 8037 (README of the vectors); we
    /// implement one more, ES256K, which the suites treat as unknown.
    fn algorithms(&self) -> Vec<Algorithm> {
        if self.algorithms.is_empty() {
            return Algorithm::ALL.into_iter().filter(|algorithm| *algorithm != Algorithm::Es256k).collect();
        }
        self.algorithms.iter().map(|name| Algorithm::from_name(name).expect("a known algorithm")).collect()
    }
}

fn yes() -> bool {
    true
}

#[derive(Clone, Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl Default for OneOrMany {
    fn default() -> Self {
        Self::Many(Vec::new())
    }
}

impl From<OneOrMany> for Vec<String> {
    fn from(value: OneOrMany) -> Self {
        match value {
            OneOrMany::One(one) => vec![one],
            OneOrMany::Many(many) => many,
        }
    }
}

/// What came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Accepted,
    Rejected(Reason),
    /// Loading the key was refused, so that there is nothing to verify with.
    KeyRefused,
    Failed(Error),
}

/// A case made ready, once for all ways.
enum Question {
    /// Answered by loading the key alone.
    Known(Answer),
    Token {
        group: usize,
        request: TokenRequest,
    },
    Signature(SignatureRequest),
}

/// Tokens with the same keys and policy share a verifier, as they would in a service.
struct Group {
    verifier: Arc<Verifier>,
    claims: bool,
}

struct Corpus {
    suites: Vec<(String, std::ops::Range<usize>)>,
    cases: Vec<Case>,
    questions: Vec<Question>,
    groups: Vec<Group>,
}

/// Past the harness, which keeps what a passing test prints.
fn say_left_out(line: &str) {
    use std::io::Write as _;
    writeln!(std::io::stderr(), "{line}").expect("standard error is open");
}

#[test]
fn every_case_gets_the_right_answer_every_way() {
    let folder = std::env::var_os("VERILANE_VECTORS")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/vectors"), PathBuf::from);
    let Some(corpus) = load(&folder) else {
        let required = std::env::var_os("VERILANE_CONFORMANCE").is_some_and(|value| value == "required");
        assert!(!required, "no vectors in {}; set VERILANE_VECTORS", folder.display());
        say_left_out(&format!("conformance: left out, no vectors in {}; set VERILANE_VECTORS", folder.display()));
        return;
    };
    println!("{} cases of {} suites", corpus.cases.len(), corpus.suites.len());
    let mut random = Random::from_environment("conformance");

    let backends = backends();
    let ways = [Way::Alone, Way::Shuffled, Way::Batched, Way::Sharded];
    let runs: Vec<_> = backends
        .iter()
        .flat_map(|(name, table)| ways.map(|way| (name, table, way)))
        .map(|(name, table, way)| {
            let mut order: Vec<usize> = (0..corpus.cases.len()).collect();
            if way != Way::Alone {
                random.shuffle(&mut order);
            }
            (name, table, way, order)
        })
        .collect();
    let results = Mutex::new(vec![Vec::new(); runs.len()]);
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some((index, (_, table, way, order))) =
                    Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|index| Some((index, runs.get(index)?)))
                {
                    let answers = corpus.answers(table, *way, order);
                    results.lock().unwrap()[index] = answers;
                }
            });
        }
    });
    let results = results.into_inner().unwrap();

    let mut faults = String::new();
    let first = &results[0];
    for ((name, _, way, _), answers) in runs.iter().zip(&results).skip(1) {
        for ((case, expected), got) in corpus.cases.iter().zip(first).zip(answers) {
            if got != expected {
                writeln!(faults, "{}: {got:?} from {name} {way:?}, {expected:?} otherwise", case.id).unwrap();
            }
        }
    }
    corpus.agrees_with_raised_limits(first, &mut faults);
    let documented = Documented::read();
    let table = corpus.score(first, &documented, &mut faults);
    println!(
        "{} ways: {}",
        runs.len(),
        runs.iter().map(|run| format!("{} {:?}", run.0, run.2)).collect::<Vec<_>>().join(", ")
    );
    println!("{table}");
    assert!(faults.is_empty(), "{faults}");
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    /// One after the other, in file order, on one context.
    Alone,
    /// One after the other, in random order, on one context: nothing may be left behind by the last case.
    Shuffled,
    /// Through the batch calls: the suites' own batches, then everything in random order.
    Batched,
    /// Through the engine of a shard, many in flight.
    Sharded,
}

/// The choice of kernels a service starts with, then each backend forced where it exists and opens.
fn backends() -> Vec<(String, KernelTable)> {
    let names: BTreeSet<&str> = REGISTRY.iter().flat_map(|family| family.iter()).map(|entry| entry.backend).collect();
    let mut tables = vec![("chosen".to_owned(), KernelTable::select::<&str>(&[]).unwrap())];
    for name in names {
        match KernelTable::select(&[name]) {
            Ok(table) => tables.push((name.to_owned(), table)),
            Err(error) => println!("backend {name} left out: {error}"),
        }
    }
    tables
}

fn load(folder: &Path) -> Option<Corpus> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    files.sort();
    let mut corpus = Corpus { suites: Vec::new(), cases: Vec::new(), questions: Vec::new(), groups: Vec::new() };
    for file in &files {
        let text = std::fs::read(file).unwrap();
        let suite: Suite = serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let start = corpus.cases.len();
        corpus.cases.extend(suite.cases);
        corpus.suites.push((suite.suite, start..corpus.cases.len()));
    }
    let ids: BTreeSet<&str> = corpus.cases.iter().map(|case| case.id.as_str()).collect();
    assert_eq!(ids.len(), corpus.cases.len(), "ids are unique");
    let mut maker = Maker::default();
    corpus.questions = corpus.cases.iter().map(|case| maker.question(case)).collect();
    corpus.groups = maker.groups;
    (!files.is_empty()).then_some(corpus)
}

/// Makes questions, loading every distinct key and building every distinct verifier once.
#[derive(Default)]
struct Maker {
    keys: HashMap<(String, String), Option<Vec<VerifyingKey>>>,
    by_policy: HashMap<String, usize>,
    groups: Vec<Group>,
}

impl Maker {
    fn question(&mut self, case: &Case) -> Question {
        if case.skipped() {
            return Question::Known(Answer::KeyRefused);
        }
        let Some(keys) = self.keys(case) else { return Question::Known(Answer::KeyRefused) };
        match case.kind {
            Kind::Jwks if keys.is_empty() => Question::Known(Answer::KeyRefused),
            Kind::Jwks => Question::Known(Answer::Accepted),
            Kind::RawSignature => {
                let Some(algorithm) = case.alg.as_deref().and_then(Algorithm::from_name) else {
                    return Question::Known(Answer::Rejected(Reason::AlgorithmUnsupported));
                };
                let [key] = keys.as_slice() else { panic!("{}: a raw signature has one key", case.id) };
                Question::Signature(SignatureRequest {
                    algorithm,
                    key: SignatureKey::Value(Arc::clone(&key.prepared)),
                    message: unhex(case.msg_hex.as_deref().unwrap()).into(),
                    signature: unhex(case.sig_hex.as_deref().unwrap()).into(),
                    deadline: None,
                })
            }
            Kind::Jws => {
                let token = match (&case.token, &case.token_hex) {
                    (Some(text), None) => Bytes::from(text.clone()),
                    (None, Some(hex)) => unhex(hex).into(),
                    _ => panic!("{}: one token, as text or hex", case.id),
                };
                let group = self.group(case, keys);
                // A bare JWS is judged without a clock; every token that has claims to judge names its time.
                let now = if case.policy.claims { case.policy.now.expect("a time to judge by") } else { 0 };
                let request = TokenRequest { token, issuer: None, audience: None, now, deadline: None };
                Question::Token { group, request }
            }
        }
    }

    /// The keys of a case, loaded as the source of that kind loads them. `None` if the source refuses.
    fn keys(&mut self, case: &Case) -> Option<Vec<VerifyingKey>> {
        let name = (case.key.format.clone() + case.alg.as_deref().unwrap_or(""), case.key.value.get().to_owned());
        self.keys.entry(name).or_insert_with(|| load_keys(case)).clone()
    }

    fn group(&mut self, case: &Case, keys: Vec<VerifyingKey>) -> usize {
        let policy = &case.policy;
        let issuers: Vec<String> = policy.issuer.clone().into();
        let template = Policy {
            issuer: None,
            algorithms: policy.algorithms(),
            audiences: policy.audience.clone().into(),
            required_claims: policy.required.clone(),
            types: policy.typ.iter().cloned().collect(),
            leeway_s: policy.leeway,
            require_expiry: policy.required.iter().any(|name| name == "exp"),
            max_lifetime_s: None,
        };
        let mut options = VerifierOptions::default();
        if let Some(max) = policy.max_token_bytes {
            options.limits = Limits { token_bytes: max, payload_bytes: max, ..Limits::DEFAULT };
        }
        let key = &case.key;
        let claims = policy.claims;
        let name = format!("{claims} {issuers:?} {template:?} {options:?} {} {}", key.format, key.value.get());
        *self.by_policy.entry(name).or_insert_with(|| {
            let handle = IssuerKeys::fixed(KeySet::new(keys));
            let entry = |index: usize, issuer: Option<String>| IssuerEntry {
                name: format!("issuer-{index}").into(),
                policy: Policy { issuer, ..template.clone() },
                keys: Arc::clone(&handle),
            };
            let entries = if issuers.is_empty() {
                vec![entry(0, None)]
            } else {
                issuers.into_iter().enumerate().map(|(index, issuer)| entry(index, Some(issuer))).collect()
            };
            let verifier = Arc::new(Verifier::new(entries, options).unwrap());
            self.groups.push(Group { verifier, claims });
            self.groups.len() - 1
        })
    }
}

fn load_keys(case: &Case) -> Option<Vec<VerifyingKey>> {
    let document = |text: &str| {
        let (set, _report) = from_document(text.as_bytes(), Origin::Local, &DocumentLimits::default()).ok()?;
        Some(set.keys().to_vec())
    };
    match case.key.format.as_str() {
        "none" => Some(Vec::new()),
        "jwk" | "jwks" => document(case.key.value.get()),
        "jwks-text" => document(&case.key.text()),
        "pem" => Some(from_pem(case.key.text().as_bytes()).ok()?.0),
        "spki-hex" => {
            use base64::Engine as _;
            let body = base64::engine::general_purpose::STANDARD.encode(unhex(&case.key.text()));
            let lines: Vec<&str> = body.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
            let pem = format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", lines.join("\n"));
            Some(from_pem(pem.as_bytes()).ok()?.0)
        }
        "raw-hex" => {
            let bytes = unhex(&case.key.text());
            match case.alg.as_deref() {
                Some("EdDSA") => {
                    document(&format!(r#"{{"kty":"OKP","crv":"Ed25519","x":"{}"}}"#, base64url::encode(&bytes)))
                }
                Some(name) => Some(vec![from_secret(&bytes, &[Algorithm::from_name(name)?]).ok()?]),
                None => None,
            }
        }
        other => panic!("{}: unknown key format {other}", case.id),
    }
}

impl Case {
    fn skipped(&self) -> bool {
        self.requires.iter().any(|need| LACKING.contains(&need.as_str()))
    }
}

fn over_a_limit(answer: Answer) -> bool {
    matches!(answer, Answer::Rejected(Reason::TokenTooLarge | Reason::PayloadTooLarge))
}

fn token_answer(answer: &Result<Verdict, Error>) -> Answer {
    match answer {
        Ok(Verdict::Accepted(_)) => Answer::Accepted,
        Ok(Verdict::Rejected(rejection)) => Answer::Rejected(rejection.reason),
        Err(error) => Answer::Failed(*error),
    }
}

fn signature_answer(answer: &Result<SignatureVerdict, Error>) -> Answer {
    match answer {
        Ok(SignatureVerdict::Accepted) => Answer::Accepted,
        Ok(SignatureVerdict::Rejected(rejection)) => Answer::Rejected(rejection.reason),
        Err(error) => Answer::Failed(*error),
    }
}

impl Corpus {
    fn answers(&self, table: &KernelTable, way: Way, order: &[usize]) -> Vec<Answer> {
        match way {
            Way::Alone | Way::Shuffled => self.alone(table, order),
            Way::Batched => self.batched(table, order),
            Way::Sharded => self.sharded(table, order),
        }
    }

    fn alone(&self, table: &KernelTable, order: &[usize]) -> Vec<Answer> {
        self.alone_where(table, order, |_| true)
    }

    /// Answers those that are `wanted`; the others stay as if their key had been refused.
    fn alone_where(&self, table: &KernelTable, order: &[usize], wanted: impl Fn(&usize) -> bool) -> Vec<Answer> {
        let mut context = Context::new(table);
        let mut answers = vec![Answer::KeyRefused; order.len()];
        let any = any_verifier();
        let wall = Instant::now();
        for &index in order.iter().filter(|index| wanted(index)) {
            answers[index] = match &self.questions[index] {
                Question::Known(answer) => *answer,
                Question::Token { group, request } => {
                    let Group { verifier, claims } = &self.groups[*group];
                    token_answer(&if *claims {
                        verifier.verify(&mut context, request, wall)
                    } else {
                        verifier.verify_jws(&mut context, request, wall)
                    })
                }
                Question::Signature(request) => signature_answer(&any.verify_signature(&mut context, request, wall)),
            };
        }
        answers
    }

    fn batched(&self, table: &KernelTable, order: &[usize]) -> Vec<Answer> {
        let mut context = Context::new(table);
        let mut answers = vec![Answer::KeyRefused; order.len()];
        let wall = Instant::now();
        let mut tokens: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let mut signatures = Vec::new();
        let mut lanes: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for &index in order {
            match &self.questions[index] {
                Question::Known(answer) => answers[index] = *answer,
                Question::Token { group, .. } => tokens.entry(*group).or_default().push(index),
                Question::Signature(_) => signatures.push(index),
            }
            if let Some(batch) = &self.cases[index].batch {
                lanes.entry(batch).or_default().push(index);
            }
        }
        for (group, members) in tokens {
            let requests: Vec<TokenRequest> = members.iter().map(|index| self.token(*index)).collect();
            let Group { verifier, claims } = &self.groups[group];
            let mut out = Vec::new();
            if *claims {
                verifier.verify_batch(&mut context, &requests, wall, &mut out);
            } else {
                verifier.verify_jws_batch(&mut context, &requests, wall, &mut out);
            }
            assert_eq!(out.len(), members.len(), "one answer a token");
            for (index, answer) in members.into_iter().zip(&out) {
                answers[index] = token_answer(answer);
            }
        }
        let verifier = any_verifier();
        let mut run = |members: &[usize]| -> Vec<Answer> {
            let requests: Vec<SignatureRequest> = members.iter().map(|index| self.signature(*index)).collect();
            let mut out = Vec::new();
            verifier.verify_signature_batch(&mut context, &requests, wall, &mut out);
            assert_eq!(out.len(), members.len(), "one answer a signature");
            out.iter().map(signature_answer).collect()
        };
        for (index, answer) in signatures.iter().zip(run(&signatures)) {
            answers[*index] = answer;
        }
        // The suites' own batches, lane by lane: the same answers once more.
        for (batch, mut members) in lanes {
            members.retain(|index| matches!(self.questions[*index], Question::Signature(_)));
            members.sort_by_key(|index| self.cases[*index].lane);
            for (index, answer) in members.iter().zip(run(&members)) {
                let id = &self.cases[*index].id;
                assert_eq!(answer, answers[*index], "{id} in batch {batch} and among others");
            }
        }
        answers
    }

    /// A valid token that is over a default limit is accepted by a service that is configured for such tokens: the
    /// limit, and nothing else, stands between it and acceptance.
    fn agrees_with_raised_limits(&self, answers: &[Answer], faults: &mut String) {
        let mut context = Context::new(&KernelTable::select::<&str>(&[]).unwrap());
        let limits = Limits { token_bytes: 64 * 1024, payload_bytes: 48 * 1024, ..Limits::DEFAULT };
        for ((case, question), answer) in self.cases.iter().zip(&self.questions).zip(answers) {
            let over = over_a_limit(*answer);
            if let (Expect::Valid, true, Question::Token { group, request }) = (case.expect, over, question) {
                let issuers = self.groups[*group].verifier.issuers().to_vec();
                let options = VerifierOptions { limits, ..VerifierOptions::default() };
                let verifier = Verifier::new(issuers, options).unwrap();
                let raised = token_answer(&verifier.verify(&mut context, request, Instant::now()));
                if raised != Answer::Accepted {
                    writeln!(faults, "{}: {raised:?} with raised limits", case.id).unwrap();
                }
            }
        }
    }

    fn token(&self, index: usize) -> TokenRequest {
        match &self.questions[index] {
            Question::Token { request, .. } => request.clone(),
            _ => unreachable!("listed as a token"),
        }
    }

    fn signature(&self, index: usize) -> SignatureRequest {
        match &self.questions[index] {
            Question::Signature(request) => request.clone(),
            _ => unreachable!("listed as a signature"),
        }
    }

    /// Prints a row a suite, and adds to `faults` whatever is neither right nor documented.
    fn score(&self, answers: &[Answer], documented: &Documented, faults: &mut String) -> String {
        let mut table = TABLE_HEAD.to_owned();
        let mut unseen: BTreeSet<&str> = documented.disagreements.iter().map(String::as_str).collect();
        for (suite, range) in &self.suites {
            let [mut agree, mut accepted, mut rejected, mut disagree, mut skipped] = [0; 5];
            for index in range.clone() {
                let (case, answer) = (&self.cases[index], answers[index]);
                if case.skipped() {
                    skipped += 1;
                    continue;
                }
                if let Answer::Failed(error) = answer {
                    writeln!(faults, "{}: not answered, {error:?}", case.id).unwrap();
                }
                let is_accepted = answer == Answer::Accepted;
                match case.expect {
                    Expect::Acceptable if is_accepted => accepted += 1,
                    Expect::Acceptable => rejected += 1,
                    expect if (expect == Expect::Valid) == is_accepted => agree += 1,
                    expect => {
                        disagree += 1;
                        println!("disagreement: {} is {expect:?} in {suite}, here {answer:?}", case.id);
                        // In a suite that the page does not know, a default limit is a known reason: the other check
                        // has seen that the token is accepted with the limit raised.
                        let known = !documented.suites.contains(suite) && over_a_limit(answer);
                        if !unseen.remove(case.id.as_str()) && !known {
                            writeln!(faults, "{}: {answer:?}, {expect:?} expected, not documented", case.id).unwrap();
                        }
                    }
                }
            }
            let row =
                format!("| {suite} | {} | {agree} | {accepted} | {rejected} | {disagree} | {skipped} |", range.len());
            if documented.suites.contains(suite) && !documented.rows.contains(&row) {
                writeln!(faults, "docs/conformance.md has another row for {suite}; now it is\n{row}").unwrap();
            }
            table += &row;
            table.push('\n');
        }
        let known: BTreeSet<&str> = self.cases.iter().map(|case| case.id.as_str()).collect();
        for id in unseen.into_iter().filter(|id| known.contains(id)) {
            writeln!(faults, "{id}: documented as a disagreement, but agrees").unwrap();
        }
        table
    }
}

const TABLE_HEAD: &str = "\
| suite | cases | agree | acceptable, accepted | acceptable, rejected | disagree | skipped |
| --- | --- | --- | --- | --- | --- | --- |
";

/// What docs/conformance.md says: rows of the table of suites, and ids of the table of disagreements.
struct Documented {
    rows: BTreeSet<String>,
    suites: BTreeSet<String>,
    disagreements: BTreeSet<String>,
}

impl Documented {
    fn read() -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/conformance.md");
        let text = std::fs::read_to_string(path).unwrap();
        let mut read = Self { rows: BTreeSet::new(), suites: BTreeSet::new(), disagreements: BTreeSet::new() };
        for line in text.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| ---")) {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            match cells.as_slice() {
                [suite, _, _, _, _, _, _] => {
                    read.rows.insert(line.to_owned());
                    read.suites.insert((*suite).to_owned());
                }
                [id, _ours, _expected, reason] if *id != "id" => {
                    assert!(!reason.is_empty(), "{id}: a disagreement needs a reason");
                    read.disagreements.insert(id.trim_matches('`').to_owned());
                }
                _ => {}
            }
        }
        read
    }
}

/// Raw signatures bring their key: any verifier answers them.
fn any_verifier() -> Verifier {
    Verifier::new(Vec::new(), VerifierOptions::default()).unwrap()
}

fn unhex(text: &str) -> Vec<u8> {
    assert!(text.len().is_multiple_of(2) && text.is_ascii(), "hex");
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

#[cfg(not(feature = "fetch"))]
impl Corpus {
    /// Without an event loop the engine is not used.
    fn sharded(&self, table: &KernelTable, order: &[usize]) -> Vec<Answer> {
        self.alone(table, order)
    }
}

#[cfg(feature = "fetch")]
mod sharded {
    use std::rc::Rc;
    use std::time::Duration;

    use arc_swap::ArcSwap;
    use verilane::engine::{Engine, EngineConfig};
    use verilane::verify::{Observation, Observe, ShardVerifier};

    use super::*;

    /// How many questions are in flight at once.
    const IN_FLIGHT: usize = 256;

    struct Unobserved;

    impl Observe for Unobserved {
        fn observe(&self, _: &Observation<'_>) {}
    }

    impl Corpus {
        /// Through one shard, window by window. A bare JWS has no call on a shard and is asked alone.
        pub(super) fn sharded(&self, table: &KernelTable, order: &[usize]) -> Vec<Answer> {
            let bare = |index: &usize| matches!(&self.questions[*index], Question::Token { group, .. } if !self.groups[*group].claims);
            let mut answers = self.alone_where(table, order, bare);
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
            tokio::task::LocalSet::new().block_on(&runtime, async {
                let engine = Engine::new(1, table, &EngineConfig::default());
                let shard = engine.shard(0);
                let runner = tokio::task::spawn_local(shard.clone().run());
                let verifier = |of: Arc<Verifier>| {
                    let of = Arc::new(ArcSwap::new(of));
                    ShardVerifier::new(of, shard.clone(), Rc::new(Unobserved), Duration::ZERO, 0)
                };
                let any = verifier(Arc::new(any_verifier()));
                let groups: Vec<ShardVerifier> =
                    self.groups.iter().map(|group| verifier(Arc::clone(&group.verifier))).collect();
                for window in order.chunks(IN_FLIGHT) {
                    let mut waiting = Vec::new();
                    for &index in window.iter().filter(|index| !bare(index)) {
                        match &self.questions[index] {
                            Question::Known(answer) => answers[index] = *answer,
                            Question::Token { group, .. } => {
                                let (verifier, request) = (groups[*group].clone(), self.token(index));
                                let task = async move { token_answer(&verifier.verify(request).await) };
                                waiting.push((index, tokio::task::spawn_local(task)));
                            }
                            Question::Signature(_) => {
                                let (verifier, request) = (any.clone(), self.signature(index));
                                let task = async move { signature_answer(&verifier.verify_signature(request).await) };
                                waiting.push((index, tokio::task::spawn_local(task)));
                            }
                        }
                    }
                    for (index, task) in waiting {
                        answers[index] = task.await.unwrap();
                    }
                }
                engine.close();
                runner.await.unwrap();
            });
            answers
        }
    }
}

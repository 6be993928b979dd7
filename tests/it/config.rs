//! The configuration file: what is accepted, what is refused and how it is said, and that documentation, schema and
//! types say the same.

use std::path::{Path, PathBuf};

use verilane::config::{self, ConfigError, FlagOverride, Origin, Problem, ShardCount, Size, Span};

fn docs(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(name)
}

fn none() -> Vec<(String, String)> {
    Vec::new()
}

fn environment(variables: &[(&str, &str)]) -> Vec<(String, String)> {
    variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn problems(text: &str) -> Vec<Problem> {
    match config::parse(text, none(), &[]) {
        Err(ConfigError::Invalid(problems)) => problems,
        other => panic!("expected problems, got {other:?}"),
    }
}

fn shown(text: &str) -> String {
    problems(text).iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// A valid issuer with these lines added to it.
fn issuer(more: &str) -> String {
    format!("issuers:\n  - name: a\n    issuer: https://a.example\n    audiences: [x]\n{more}")
}

#[test]
fn nothing_at_all_is_a_configuration_with_safe_defaults() {
    for text in ["", "# only a comment\n", "{}", "listen:\n"] {
        let settings = config::parse(text, none(), &[]).unwrap_or_else(|error| panic!("{text:?}: {error}"));
        assert!(settings.listen.data.ip().is_loopback() && settings.listen.admin.ip().is_loopback());
        assert_eq!(settings.engine.shards, ShardCount::Auto);
        assert_eq!(settings.limits.limits(), verilane::jose::Limits::DEFAULT);
    }
    let stop = config::Settings::default().shutdown;
    assert_eq!(stop.announce, Span::secs(5), "load balancers are told before the listeners close");
    let settings = config::parse(&issuer("    keys: {jwks_url: https://a.example/keys}\n"), none(), &[]).unwrap();
    let policy = settings.issuers[0].policy();
    assert!(policy.require_expiry);
    assert_eq!(policy.leeway_s, 0);
}

#[test]
fn the_annotated_example_loads_without_warnings_and_shows_the_defaults() {
    let settings = config::load(Some(&docs("verilane.example.yaml")), none(), &[]).unwrap();
    assert_eq!(config::warnings(&settings), []);
    assert_eq!(settings.issuers.len(), 6);
    assert!(settings.issuers[2].keys.jwks_file.as_ref().unwrap().starts_with(docs("")));
    // Everything but the issuers is a default, so a new default must be shown there too.
    let defaults = config::Settings { issuers: settings.issuers.clone(), ..config::Settings::default() };
    assert_eq!(format!("{settings:?}"), format!("{defaults:?}"));
}

#[test]
fn the_annotated_example_shows_every_setting() {
    let text = std::fs::read_to_string(docs("verilane.example.yaml")).unwrap();
    let schema = serde_json::to_value(config::schema()).unwrap();
    let sections = schema["$defs"].as_object().unwrap();
    let shown_once = ["KeySourceSettings"];
    for (section, definition) in sections.iter().filter(|(name, _)| !shown_once.contains(&name.as_str())) {
        for name in definition["properties"].as_object().into_iter().flatten().map(|(name, _)| name) {
            let mentioned =
                text.lines().any(|line| line.trim_start().trim_start_matches("- ").starts_with(&format!("{name}:")));
            assert!(mentioned, "{section}.{name} is not in docs/verilane.example.yaml");
        }
    }
}

#[test]
fn the_published_schema_is_the_one_of_the_types() {
    let path = docs("config.schema.json");
    let current = serde_json::to_string_pretty(&config::schema()).unwrap() + "\n";
    let published = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        published == current,
        "docs/config.schema.json is behind; run `cargo run -- check --schema > docs/config.schema.json`"
    );
}

#[test]
fn every_unknown_key_is_reported_with_place_and_nearest_known() {
    let text = "listen:\n  dta: 127.0.0.1:1\nengin: {}\nissuers:\n  - name: a\n    issuer: b\n    algoritms: [ES256]\n    keys: {jwks_urll: x}\n";
    let found = problems(text);
    let of =
        |path: &str| found.iter().find(|problem| problem.path == path).unwrap_or_else(|| panic!("{path}: {found:#?}"));
    assert_eq!(of("listen.dta").origin, Origin::File { line: 2, column: 3 });
    assert!(of("listen.dta").message.contains("did you mean `data`?"));
    assert!(of("engin").message.contains("did you mean `engine`?"));
    assert!(of("issuers[0].algoritms").message.contains("did you mean `algorithms`?"));
    assert!(of("issuers[0].keys.jwks_urll").message.contains("did you mean `jwks_url`?"));
    assert_eq!(found.len(), 4);
}

#[test]
fn every_wrong_type_is_reported_with_its_place() {
    let text = "engine: {shards: many, slots_per_shard: -1}\nissuers:\n  - name: a\n    issuer: b\n    algorithms: [ES256, none, es384]\n    leeway: 30\n    keys: {discovery: 7}\n  - issuer: c\n    keys: {}\ndrain: 1\n";
    let text = shown(text);
    for expected in [
        "line 1, column 10: engine.shards: ",
        "engine.slots_per_shard: ",
        "line 5, column 25: issuers[0].algorithms[1]: `none` is not an algorithm",
        "issuers[0].algorithms[2]: no algorithm is called `es384`, did you mean `ES384`?",
        "line 6, column 5: issuers[0].leeway: `30` has no unit; write \"30s\"",
        "issuers[0].keys.discovery: ",
        "issuers[1]: missing field `name`",
        "drain: unknown key",
    ] {
        assert!(text.contains(expected), "{expected:?} is not in\n{text}");
    }
}

#[test]
fn text_that_is_not_yaml_is_refused_with_its_place() {
    for (text, line) in [("a: [1\nb: 2\n", 2), ("listen: {}\nlisten: {}\n", 2), ("\"\n", 1)] {
        let found = problems(text);
        assert_eq!(found.len(), 1, "{text:?}");
        let Origin::File { line: found_line, .. } = found[0].origin else { panic!("{text:?}: {found:?}") };
        assert!(found_line >= line, "{text:?}: {found:?}");
    }
    assert!(shown("just text").contains("invalid type"));
}

#[test]
fn an_address_that_is_none_is_told_what_one_looks_like() {
    for text in ["listen: {data: 8080}", "listen: {data: \"localhost:8080\"}", "listen: {admin: \":9090\"}"] {
        let text = shown(text);
        assert!(text.contains("an IP address and a port, such as 127.0.0.1:8080"), "{text}");
    }
}

#[test]
fn problems_are_told_in_the_words_of_the_file_and_not_of_the_program() {
    let bomb: String = ('a'..='h').fold("a0: &a0 [x]\n".to_owned(), |text, name| {
        let before = text.rsplit('&').next().unwrap()[..2].to_owned();
        format!("{text}{name}1: &{name}1 [{}]\n", vec![format!("*{before}"); 9].join(", "))
    });
    for (text, want) in [
        ("engine: {slots_per_shard: many}", "expected a whole number"),
        ("issuers: 5", "expected a list"),
        ("listen: x", "expected a section of settings"),
        ("listen: {}\nlisten: {}", "duplicate mapping key: listen"),
        ("listen: {}\n---\nlisten: {}", "multiple YAML documents"),
        (&bomb, "larger or deeper than any configuration"),
    ] {
        let shown = shown(text);
        assert!(shown.contains(want), "{want:?} is not in\n{shown}");
        for word in ["usize", "struct", "Policy", "from_str", "budget"] {
            assert!(!shown.contains(word), "{shown}");
        }
    }
}

/// Each case: a name, the file, and what must be said about it.
const CONTRADICTIONS: &[(&str, &str, &str)] = &[
    ("same port", "listen: {data: 127.0.0.1:1, admin: 127.0.0.1:1}", "listen.admin: port 1 is already"),
    ("no slots", "engine: {slots_per_shard: 1}", "engine.slots_per_shard: 1 is outside 32 to 65536"),
    // Bulk would have 12, and a token without `kid` may need 16.
    ("too few slots", "engine: {slots_per_shard: 16}", "engine.slots_per_shard: 16 is outside 32 to 65536"),
    (
        "no room for a batch",
        "http: {held_per_shard: 64 MiB}",
        "three quarters of 64.0 MiB are for batches and cannot hold the largest with its answers, 112.0 MiB",
    ),
    ("no candidates", "limits: {candidates_max: 0}", "limits.candidates_max: 0 is outside 1 to 16"),
    ("too many candidates", "limits: {candidates_max: 17}", "limits.candidates_max: 17 is outside 1 to 16"),
    ("body below token", "limits: {token: 64 KiB}", "http.body: 40.0 KiB cannot hold a token of 64.0 KiB"),
    ("header above token", "limits: {header: 32 KiB}", "limits.header: 32.0 KiB is outside"),
    (
        "bulk takes all",
        "http: {bulk_in_flight_max: 4096}",
        "http.bulk_in_flight_max: 4096 is more than 3072, three quarters of engine.slots_per_shard",
    ),
    ("ceiling below floor", "keys: {refresh_ceiling: 30s}", "keys.refresh_ceiling: 30s is below refresh_floor"),
    ("stale below ceiling", "keys: {stale_max: 10m}", "keys.stale_max: 10m is below refresh_ceiling"),
];

#[test]
fn contradictions_are_refused() {
    for (name, text, expected) in CONTRADICTIONS {
        let text = shown(text);
        assert!(text.contains(expected), "{name}: {text}");
    }
}

/// Each case: a name, the lines after an issuer's audiences, and what must be said about it.
const BAD_ISSUERS: &[(&str, &str, &str)] = &[
    ("no source", "    keys: {}\n", "issuers[0].keys: name one source"),
    ("discovery off", "    keys: {discovery: false}\n", "issuers[0].keys: name one source"),
    ("two sources", "    keys: {discovery: true, pem_file: a}\n", "one source only, not pem_file and discovery"),
    ("plain http", "    keys: {jwks_url: http://a.example/k}\n", "keys.jwks_url: http would let anyone"),
    (
        "loopback elsewhere",
        "    keys: {jwks_url: http://a.example/k, plain_http: loopback}\n",
        "the host is not this machine",
    ),
    ("no address", "    keys: {jwks_url: keys.json}\n", "keys.jwks_url: not an https address such as"),
    ("password", "    keys: {jwks_url: https://u:p@a.example/k}\n", "credentials do not belong in an address"),
    ("ca for a file", "    keys: {jwks_file: a, ca_file: b}\n", "keys.ca_file: has no meaning with jwks_file"),
    ("encoding for pem", "    keys: {pem_file: a, secret_encoding: raw}\n", "keys.secret_encoding: has no meaning"),
    ("kid for a set", "    keys: {jwks_file: a, key_id: b}\n", "keys.key_id: has no meaning"),
    (
        "secret inline",
        "    keys: {jwks_inline: {keys: [{kty: oct, k: AAAA}]}}\n",
        "keys.jwks_inline: holds a secret (kty oct)",
    ),
    (
        "secret inline as text",
        "    keys: {jwks_inline: '{\"kty\":\"oct\",\"k\":\"AAAA\"}'}\n",
        "keys.jwks_inline: holds a secret (kty oct)",
    ),
    (
        "no algorithm",
        "    algorithms: []\n    keys: {discovery: true}\n",
        "issuers[0].algorithms: the list is empty; leave it out",
    ),
    ("hmac by url", "    algorithms: [HS256]\n    keys: {jwks_url: https://a.example/k}\n", "HS256 needs a secret"),
    ("rsa by secret", "    algorithms: [RS256]\n    keys: {secret_env: S}\n", "RS256 needs a public key"),
    ("part of a second", "    leeway: 1500ms\n    keys: {discovery: true}\n", "leeway: 1s 500ms is not a whole"),
    ("empty claim", "    required_claims: ['']\n    keys: {discovery: true}\n", "issuers[0].required_claims[0]: empty"),
    (
        "refresh of its own",
        "    keys: {discovery: true, refresh_ceiling: 10s}\n",
        "issuers[0].keys.refresh_ceiling: 10s is below refresh_floor, 1m",
    ),
    (
        "same name and iss",
        "    keys: {discovery: true}\n  - name: a\n    issuer: https://a.example\n    keys: {discovery: true}\n",
        "issuers[1].issuer: issuers[0] already has this value",
    ),
    (
        "name of one is iss of another",
        "    keys: {discovery: true}\n  - name: b\n    issuer: a\n    keys: {pem_file: b.pem}\n",
        "issuers[0].name: `a` is the `iss` of issuers[1]",
    ),
    (
        "name with a space",
        "    keys: {discovery: true}\n  - name: A b\n    issuer: https://b.example\n    keys: {discovery: true}\n",
        "issuers[1].name: a name has 1 to 64",
    ),
];

#[test]
fn issuers_that_make_no_sense_are_refused() {
    for (name, lines, expected) in BAD_ISSUERS {
        let text = shown(&issuer(lines));
        assert!(text.contains(expected), "{name}: {text}");
    }
}

#[test]
fn all_contradictions_are_reported_at_once() {
    let all = "engine: {slots_per_shard: 1, turn_budget: 1s}\nkeys: {keys_max: 0}\nissuers:\n  - {name: '', issuer: '', keys: {}}\n";
    let found = problems(all);
    assert!(found.len() >= 6, "{found:#?}");
    assert!(found.iter().all(|problem| matches!(problem.origin, Origin::File { .. })), "{found:#?}");
}

#[test]
fn environment_overrides_the_file_and_flags_override_both() {
    let file = "listen: {data: 127.0.0.1:1, admin: 127.0.0.1:2}\nengine: {shards: 3}\n";
    let variables = environment(&[
        ("VERILANE__LISTEN__DATA", "127.0.0.1:11"),
        ("VERILANE__LISTEN__ADMIN", "[::1]:12"),
        ("VERILANE__ENGINE__KERNELS", "[portable]"),
        ("VERILANE__KEYS__STALE_MAX", "2h"),
        ("VERILANE__ENGINE__SHARDS", ""),
        ("VERILANE_VECTORS", "unrelated"),
        ("VERILANE__ISSUERS__0__NAME", "a"),
        ("VERILANE__ISSUERS__0__ISSUER", "https://a.example"),
        ("VERILANE__ISSUERS__0__AUDIENCES", "[x, y]"),
        ("VERILANE__ISSUERS__0__KEYS__DISCOVERY", "true"),
    ]);
    let flag = FlagOverride { flag: "--listen", path: &["listen", "data"], value: "127.0.0.1:21".to_owned() };
    let settings = config::parse(file, variables, &[flag]).unwrap();
    assert_eq!(settings.listen.data.port(), 21);
    assert_eq!(settings.listen.admin.to_string(), "[::1]:12");
    assert_eq!(settings.engine.shards, ShardCount::Exactly(3), "an empty variable counts as not set");
    assert_eq!(settings.engine.kernels, ["portable"]);
    assert_eq!(settings.keys.stale_max, Span::secs(7200));
    assert_eq!(settings.issuers[0].audiences, ["x", "y"]);
    assert_eq!(settings.limits.token, Size::kib(24));
}

#[test]
fn problems_in_variables_name_the_variable() {
    let cases = [
        ("VERILANE__LISTN__DATA", "127.0.0.1:1", "did you mean `listen`?"),
        ("VERILANE__ENGINE__SHARDS", "lots", "\"auto\" or a number"),
        ("VERILANE__ISSUERS__3__NAME", "x", "the next index is 0, not 3"),
        ("VERILANE__LISTEN____DATA", "x", "an empty step"),
        ("VERILANE__ENGINE__SLOTS_PER_SHARD", "7", "outside 32 to 65536"),
    ];
    for (name, value, expected) in cases {
        let error = config::parse("", environment(&[(name, value)]), &[]).unwrap_err().to_string();
        assert!(error.contains(&format!("environment variable {name}: ")), "{error}");
        assert!(error.contains(expected), "{error}");
    }
}

/// Each case: a name, the lines of an issuer, and the warning.
const LOOSE: &[(&str, &str, &str)] = &[
    ("no audience", "    audiences: []\n    keys: {discovery: true}\n", "tokens meant for another service"),
    ("no expiry", "    audiences: [x]\n    require_expiry: false\n    keys: {discovery: true}\n", "never expire"),
    ("long leeway", "    audiences: [x]\n    leeway: 6m\n    keys: {discovery: true}\n", "6m after they expired"),
    (
        "http anywhere",
        "    audiences: [x]\n    keys: {jwks_url: http://a.example/k, plain_http: anywhere}\n",
        "without TLS",
    ),
    ("old keys", "    audiences: [x]\n    keys: {discovery: true, stale_max: 8d}\n", "8days after the last"),
];

#[test]
fn every_loosening_is_warned_about() {
    for (name, lines, expected) in LOOSE {
        let text = format!("issuers:\n  - name: a\n    issuer: https://a.example\n{lines}");
        let settings = config::parse(&text, none(), &[]).unwrap_or_else(|error| panic!("{name}: {error}"));
        let warnings = config::warnings(&settings);
        assert_eq!(warnings.len(), 1, "{name}: {warnings:?}");
        assert!(warnings[0].to_string().contains(expected), "{name}: {warnings:?}");
    }
    let everywhere = config::parse("listen: {data: 0.0.0.0:8080, admin: 0.0.0.0:9090}", none(), &[]).unwrap();
    let warnings = config::warnings(&everywhere);
    for (path, expected) in [("listen.data", "tokens travel in the clear"), ("listen.admin", "from other machines")] {
        let found = warnings.iter().find(|warning| warning.path == path).unwrap_or_else(|| panic!("{path}"));
        assert!(found.message.contains(expected), "{found}");
    }
    let warnings = config::warnings(&config::Settings::default());
    assert!(!warnings.iter().any(|warning| warning.path.starts_with("listen")), "{warnings:?}");
    assert!(warnings.iter().any(|warning| warning.message.contains("no issuers")), "{warnings:?}");
}

#[test]
fn a_file_that_is_not_there_or_too_large_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let absent = directory.path().join("absent.yaml");
    assert!(config::load(Some(&absent), none(), &[]).unwrap_err().to_string().contains("absent.yaml"));
    let large = directory.path().join("large.yaml");
    std::fs::write(&large, vec![b'#'; 5 * 1024 * 1024]).unwrap();
    let error = config::load(Some(&large), none(), &[]).unwrap_err();
    assert!(matches!(error, ConfigError::TooLarge { .. }), "{error}");
}

#[test]
fn deep_and_self_referring_yaml_is_refused() {
    let deep = "[".repeat(100_000);
    assert!(config::parse(&deep, none(), &[]).is_err());
    let laughs = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f,*f]\n";
    assert!(config::parse(laughs, none(), &[]).is_err());
}

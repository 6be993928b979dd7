//! The arguments of every command, with their help.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand, ValueHint};

use crate::config::{AlgorithmName, Span};
use crate::jose::Algorithm;
use crate::kernel::Tier;

/// Verifies JWTs and signatures: as a service over HTTP and gRPC, and here on the command line.
#[derive(Debug, Parser)]
#[command(name = "verilane", version, arg_required_else_help = true, max_term_width = 110)]
#[command(after_help = "Exit codes: 0 accepted or done, 1 a token was rejected, 2 an error.\n\
                        `verilane COMMAND --help` shows examples.")]
pub(super) struct Cli {
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Run the service.
    Serve(ServeArguments),
    /// Verify tokens and explain every check.
    Verify(VerifyArguments),
    /// Sign a token for tests.
    Mint(MintArguments),
    /// Make a key for tests.
    Keygen(KeygenArguments),
    /// Check a configuration file and the local keys it names.
    Check(CheckArguments),
    /// Show what this CPU has and which kernel is chosen for every scheme.
    Cpu(CpuArguments),
    /// Measure what this CPU gives, beside the usual libraries.
    Bench(BenchArguments),
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  verilane serve --dev
      fresh keys, an issuer, a minting endpoint, all on loopback; prints a curl line to paste
  verilane serve --config /etc/verilane/verilane.yaml
  VERILANE__LISTEN__DATA=0.0.0.0:8080 verilane serve --config verilane.yaml

A setting comes from the file, unless VERILANE__SECTION__SETTING is set, unless a flag is given.")]
pub(super) struct ServeArguments {
    /// Configuration file (YAML).
    #[arg(long, short, value_name = "FILE", env = "VERILANE_CONFIG", value_hint = ValueHint::FilePath)]
    pub(super) config: Option<PathBuf>,
    /// Development mode: fresh keys for every algorithm, an issuer with discovery and a minting endpoint. Loopback
    /// only.
    #[arg(long, conflicts_with = "config")]
    pub(super) dev: bool,
    /// Address of the data listener: HTTP and gRPC. Port 0 takes a free one.
    #[arg(long, value_name = "ADDR", value_parser = parse_address)]
    pub(super) listen: Option<SocketAddr>,
    /// Address of the admin listener: health, metrics.
    #[arg(long, value_name = "ADDR", value_parser = parse_address)]
    pub(super) admin: Option<SocketAddr>,
    /// Address of the development issuer. Port 0 takes a free one.
    #[arg(long, value_name = "ADDR", requires = "dev", default_value = "127.0.0.1:8081", value_parser = parse_address)]
    pub(super) dev_issuer: SocketAddr,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  verilane verify --jwks jwks.json --issuer https://id.example --audience api eyJhbGciOi...
  verilane verify --jwks https://id.example/jwks.json --file tokens.txt
  verilane verify --key public.pem - < tokens.ndjson
  verilane verify --key secret.txt --secret --alg HS256 \"$TOKEN\"
  verilane verify --config verilane.yaml --json --file tokens.txt

A file or standard input has one token a line, or one JSON object a line: {\"token\": \"...\", \"id\": \"...\"}.
Exit code 0: all accepted; 1: at least one rejected; 2: an error.")]
pub(super) struct VerifyArguments {
    /// Tokens; `-` reads standard input.
    #[arg(value_name = "TOKEN", required_unless_present = "file")]
    pub(super) tokens: Vec<String>,
    /// Read tokens from a file, one a line; `-` is standard input.
    #[arg(long, short, value_name = "FILE", conflicts_with = "tokens", value_hint = ValueHint::FilePath)]
    pub(super) file: Option<PathBuf>,
    #[command(flatten)]
    pub(super) keys: KeyArguments,
    /// The file of --key holds an HMAC secret as text.
    #[arg(long, requires = "key")]
    pub(super) secret: bool,
    /// The issuer the token must name in `iss`. With --config: which issuer applies, by name or by `iss`.
    #[arg(long, value_name = "ISS")]
    pub(super) issuer: Option<String>,
    /// An audience that must be in `aud`. Repeat for several: one of them is enough.
    #[arg(long, value_name = "AUD")]
    pub(super) audience: Vec<String>,
    /// The time to judge by: seconds since 1970, or as in 2026-01-31T12:00:00Z. Default: now.
    #[arg(long, value_name = "TIME", value_parser = parse_time, allow_negative_numbers = true)]
    pub(super) now: Option<i64>,
    /// Tolerated clock difference, such as 30s.
    #[arg(long, value_name = "TIME", conflicts_with = "config")]
    pub(super) leeway: Option<Span>,
    /// Allowed algorithms. Repeat, or separate by commas. Default: all the keys fit.
    #[arg(long, value_name = "ALG", value_delimiter = ',', conflicts_with = "config")]
    pub(super) alg: Vec<AlgorithmName>,
    /// Accepted value of `typ`. Repeat for several.
    #[arg(long, value_name = "TYP", conflicts_with = "config")]
    pub(super) typ: Vec<String>,
    /// A claim that must be present. Repeat for several.
    #[arg(long, value_name = "CLAIM", conflicts_with = "config")]
    pub(super) require: Vec<String>,
    /// Accept tokens without `exp`.
    #[arg(long, conflicts_with = "config")]
    pub(super) allow_missing_expiry: bool,
    /// Use these kernels instead of the fastest: `portable`, or `scheme/backend`.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(super) kernel: Vec<String>,
    /// One JSON object a token, in the form of the HTTP API.
    #[arg(long)]
    pub(super) json: bool,
    /// Explain every check, also when there are many tokens.
    #[arg(long)]
    pub(super) explain: bool,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(super) struct KeyArguments {
    /// A JWK Set: a file, or an https address.
    #[arg(long, value_name = "FILE|URL")]
    pub(super) jwks: Option<String>,
    /// One key: PEM, certificate or JWK; with --secret an HMAC secret.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(super) key: Option<PathBuf>,
    /// The issuers and policies of a configuration file.
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(super) config: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  verilane keygen --alg EdDSA --out keys
  verilane mint --key keys/private.jwk.json --iss https://id.example --aud api --sub alice --ttl 10m
  verilane mint --key rsa.pem --alg PS256 --kid 2026-01 --claim role=admin --claim 'groups=[\"a\",\"b\"]'
  verilane mint --key secret.txt --secret --alg HS256 --claims '{\"sub\":\"alice\"}'")]
pub(super) struct MintArguments {
    /// The private key: JWK or PEM; with --secret an HMAC secret.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(super) key: PathBuf,
    /// The file of --key holds an HMAC secret as text.
    #[arg(long)]
    pub(super) secret: bool,
    /// Algorithm. Default: the key's own.
    #[arg(long, value_name = "ALG")]
    pub(super) alg: Option<AlgorithmName>,
    /// `kid` of the header. Default: the key's own; an empty text leaves it out.
    #[arg(long, value_name = "KID")]
    pub(super) kid: Option<String>,
    /// `typ` of the header.
    #[arg(long, value_name = "TYP", default_value = "JWT")]
    pub(super) typ: String,
    /// `iss`.
    #[arg(long, value_name = "ISS")]
    pub(super) iss: Option<String>,
    /// `sub`.
    #[arg(long, value_name = "SUB")]
    pub(super) sub: Option<String>,
    /// `aud`; repeat for several.
    #[arg(long, value_name = "AUD")]
    pub(super) aud: Vec<String>,
    /// How long the token is valid.
    #[arg(long, value_name = "TIME", default_value = "5m")]
    pub(super) ttl: Span,
    /// Leaves `exp` out.
    #[arg(long, conflicts_with = "ttl")]
    pub(super) no_expiry: bool,
    /// The time of issue: seconds since 1970, or as in 2026-01-31T12:00:00Z. Default: now.
    #[arg(long, value_name = "TIME", value_parser = parse_time, allow_negative_numbers = true)]
    pub(super) now: Option<i64>,
    /// One claim. The value is taken as JSON if it is JSON, else as text. Wins over everything else.
    #[arg(long, value_name = "NAME=VALUE")]
    pub(super) claim: Vec<String>,
    /// Claims as a JSON object, or `@FILE`. What other flags say wins.
    #[arg(long, value_name = "JSON")]
    pub(super) claims: Option<String>,
    /// How many tokens to print, one a line; each with its own `jti` when more than one.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) count: u64,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  verilane keygen --alg EdDSA --out keys      keys/private.jwk.json and keys/jwks.json
  verilane keygen --alg ES256                 the private JWK, then the public JWK Set, one a line
  verilane keygen --alg PS384 --bits 4096 --kid 2026-01 --out keys")]
pub(super) struct KeygenArguments {
    /// Algorithm the key is for.
    #[arg(long, value_name = "ALG", default_value = Algorithm::EdDsa.name())]
    pub(super) alg: AlgorithmName,
    /// Bits of an RSA modulus: 2048, 3072, 4096 or 8192.
    #[arg(long, value_name = "BITS", default_value_t = 2048, value_parser = parse_bits)]
    pub(super) bits: usize,
    /// `kid`. Default: the RFC 7638 thumbprint; random for a secret.
    #[arg(long, value_name = "KID")]
    pub(super) kid: Option<String>,
    /// Directory to write to; `-` is standard output.
    #[arg(long, value_name = "DIR", default_value = "-", value_hint = ValueHint::DirPath)]
    pub(super) out: PathBuf,
    /// Replace files that exist.
    #[arg(long)]
    pub(super) force: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  verilane check verilane.yaml
  verilane check --schema > config.schema.json

Environment overrides apply, as they do to `serve`. Remote key sets are not fetched.
Exit code 0: the configuration can be served, perhaps with warnings; 2: it cannot.")]
pub(super) struct CheckArguments {
    /// The configuration file.
    #[arg(value_name = "FILE", required_unless_present = "schema", value_hint = ValueHint::FilePath)]
    pub(super) file: Option<PathBuf>,
    /// Print the JSON schema of the configuration file instead.
    #[arg(long, conflicts_with = "file")]
    pub(super) schema: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  verilane cpu
  verilane cpu --json
  verilane cpu --kernel portable
  VERILANE_CPU_DISABLE=avx512f verilane cpu")]
pub(super) struct CpuArguments {
    /// One JSON object.
    #[arg(long)]
    pub(super) json: bool,
    /// Choose as if these kernels were forced: `portable`, or `scheme/backend`.
    #[arg(long, value_name = "NAME", value_delimiter = ',', action = ArgAction::Append)]
    pub(super) kernel: Vec<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  verilane bench                                  everything; takes about a minute
  verilane bench --scheme ed25519 --pin 1
  verilane bench --scheme ed25519 --keys 1 --tier bare,small,medium,large,full
  verilane bench --scheme hmac,rsa --message 64,400,4096
  verilane bench --scheme ed25519 --backend avx512_ifma --keys 1,16,256 --time 1s --json > ed25519.json

Results go to standard output, progress to standard error. Quiet the machine first, and give --pin on one with more
than one kind of core. Exit code 2 if any verdict was wrong.")]
pub(super) struct BenchArguments {
    /// Schemes, as `verilane cpu` names them, or a family: `hmac`, `rsa_pss`. Default: all.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(super) scheme: Vec<String>,
    /// Backends, as `verilane cpu` names them. Default: all that this CPU can run.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(super) backend: Vec<String>,
    /// Bytes of a message: what a signature covers, header and payload of a token.
    #[arg(long, value_name = "BYTES", value_delimiter = ',', default_value = "400", value_parser = parse_message)]
    pub(super) message: Vec<usize>,
    /// How many prepared keys take turns, for schemes whose keys have large tables (Ed25519).
    #[arg(long, value_name = "COUNT", value_delimiter = ',', default_value = "1,16,256", value_parser = parse_keys)]
    pub(super) keys: Vec<usize>,
    /// Tables that prepared keys have, for the same schemes: `small`, `medium`, `large`, `full`, `bare` (none), or
    /// `auto`: the largest of which those of all keys fit --key-memory.
    #[arg(long, value_name = "TIER", value_delimiter = ',', default_value = "auto", value_parser = parse_tier)]
    pub(super) tier: Vec<TierChoice>,
    /// Memory for the tables of all keys, with `--tier auto`.
    #[arg(long, value_name = "SIZE", default_value = "64 MiB")]
    pub(super) key_memory: bytesize::ByteSize,
    /// Jobs in a long run.
    #[arg(long, value_name = "JOBS", default_value_t = 1024, value_parser = parse_run)]
    pub(super) run: usize,
    /// Bits of RSA keys: 2048, 3072, 4096 or 8192.
    #[arg(long, value_name = "BITS", default_value_t = 2048, value_parser = parse_bits)]
    pub(super) rsa_bits: usize,
    /// Time for each row, warm-up included. Slow rows take longer, for at least three turns.
    #[arg(long, value_name = "TIME", default_value = "300ms")]
    pub(super) time: Span,
    /// Stay on this CPU, as the operating system counts them.
    #[arg(long, value_name = "CPU")]
    pub(super) pin: Option<usize>,
    /// One JSON object.
    #[arg(long)]
    pub(super) json: bool,
}

/// Which tables prepared keys get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TierChoice {
    /// The largest that fits the memory.
    Auto,
    /// This one.
    Fixed(Tier),
}

fn parse_tier(text: &str) -> Result<TierChoice, String> {
    if text == "auto" {
        return Ok(TierChoice::Auto);
    }
    let tier = Tier::ALL.into_iter().find(|tier| tier.name() == text).map(TierChoice::Fixed);
    tier.ok_or_else(|| format!("`auto`, {}", Tier::ALL.map(|tier| format!("`{tier}`")).join(", ")))
}

/// A number from `least` to `most`.
fn parse_count(text: &str, least: usize, most: usize) -> Result<usize, String> {
    match text.parse() {
        Ok(count) if (least..=most).contains(&count) => Ok(count),
        _ => Err(format!("a number from {least} to {most}")),
    }
}

fn parse_message(text: &str) -> Result<usize, String> {
    parse_count(text, 0, 64 * 1024)
}

fn parse_keys(text: &str) -> Result<usize, String> {
    parse_count(text, 1, 1024)
}

fn parse_run(text: &str) -> Result<usize, String> {
    parse_count(text, 1, 4096)
}

fn parse_time(text: &str) -> Result<i64, String> {
    if let Ok(seconds) = text.parse() {
        return Ok(seconds);
    }
    let time = humantime::parse_rfc3339_weak(text)
        .map_err(|_| "give seconds since 1970, or a time such as 2026-01-31T12:00:00Z".to_owned())?;
    let since = time.duration_since(std::time::UNIX_EPOCH).map_err(|_| "before 1970".to_owned())?;
    i64::try_from(since.as_secs()).map_err(|_| "too far in the future".to_owned())
}

fn parse_address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "this is not an IP address and a port, such as 127.0.0.1:8080".to_owned())
}

fn parse_bits(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(bits @ (2048 | 3072 | 4096 | 8192)) => Ok(bits),
        _ => Err("2048, 3072, 4096 or 8192".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definition_is_consistent() {
        use clap::CommandFactory as _;
        Cli::command().debug_assert();
    }

    #[test]
    fn times_are_seconds_or_dates() {
        assert_eq!(parse_time("1700000000"), Ok(1_700_000_000));
        assert_eq!(parse_time("2023-11-14T22:13:20Z"), Ok(1_700_000_000));
        assert!(parse_time("tomorrow").is_err());
    }
}

//! Typed settings: a YAML file, overridden by the environment, overridden by flags. Owns what can be configured, the
//! defaults, the check that it makes sense, and the JSON schema. Knows no sockets and loads no keys.
//!
//! Unknown keys, wrong types and contradictions are all reported at once, each with its path and place. Nothing is
//! guessed: an unknown key is an error that names the nearest known one.

mod issuer;
mod problem;
mod settings;
mod tree;
mod units;
mod unknown;
mod validate;

use std::path::{Path, PathBuf};

pub use issuer::{IssuerSettings, KeySourceSettings, PlainHttp, SecretEncoding, SourceKind};
pub use problem::{ConfigError, Origin, Problem};
pub use settings::{
    EngineSettings, HttpSettings, KeySettings, LimitSettings, ListenSettings, LogFormat, LogLevel, Proxy, Settings,
    ShutdownSettings, TelemetrySettings,
};
pub use units::{AlgorithmName, ShardCount, Size, Span};
pub use validate::warnings;

use tree::{Node, Step, path_text};

/// The largest configuration file that is read.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Environment variables that begin so are overrides; `__` separates the steps of a path.
pub const ENVIRONMENT_PREFIX: &str = "VERILANE__";

/// A setting given on the command line.
#[derive(Clone, Debug)]
pub struct FlagOverride {
    /// The flag, for messages.
    pub flag: &'static str,
    /// Steps of the path.
    pub path: &'static [&'static str],
    /// The value, as text.
    pub value: String,
}

/// Reads, merges, types and checks a configuration.
///
/// `file` may be absent: then defaults, environment and flags make the settings. Relative paths inside the
/// configuration count from the directory of the file.
///
/// # Errors
/// The file cannot be read, or everything that is wrong with the merged configuration.
pub fn load(
    file: Option<&Path>,
    environment: impl IntoIterator<Item = (String, String)>,
    flags: &[FlagOverride],
) -> Result<Settings, ConfigError> {
    let text = file.map(read_file).transpose()?.unwrap_or_default();
    let mut settings = parse(&text, environment, flags)?;
    if let Some(directory) = file.and_then(Path::parent) {
        rebase_paths(&mut settings, directory);
    }
    Ok(settings)
}

/// As [`load`], from the text of a file. Relative paths stay as they are.
///
/// # Errors
/// Everything that is wrong with the merged configuration.
pub fn parse(
    text: &str,
    environment: impl IntoIterator<Item = (String, String)>,
    flags: &[FlagOverride],
) -> Result<Settings, ConfigError> {
    let mut root = Node::from_yaml(text, None).map_err(|problem| ConfigError::Invalid(vec![problem]))?;
    let mut problems = apply_environment(&mut root, environment);
    for flag in flags {
        let origin = Origin::Flag(flag.flag);
        let value = tree::Value::Scalar(flag.value.clone().into());
        if let Err(message) = root.set(flag.path, Node { value, origin: origin.clone() }) {
            problems.push(Problem { path: flag.path.join("."), origin, message });
        }
    }
    problems.extend(unknown::take_unknown(&mut root, schema().as_value()));
    root.drop_empty_sections();
    let settings = type_settings(&root, &mut problems);
    if problems.is_empty() {
        problems.extend(validate::problems(&settings).into_iter().map(|(path, message)| Problem {
            path: path_text(&path),
            origin: root.origin_of(&path),
            message,
        }));
    }
    if problems.is_empty() { Ok(settings) } else { Err(ConfigError::Invalid(problems)) }
}

/// The JSON schema of the configuration file.
#[must_use]
pub fn schema() -> schemars::Schema {
    schemars::schema_for!(Settings)
}

/// The known word nearest to what was written, if any is near enough to be meant.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    known
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(&word, &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| *distance <= 1.max(candidate.len().max(word.len()) / 3))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

fn read_file(path: &Path) -> Result<String, ConfigError> {
    use std::io::Read as _;

    let unreadable = |source| ConfigError::Unreadable { path: path.to_owned(), source };
    let file = std::fs::File::open(path).map_err(unreadable)?;
    let mut text = String::new();
    file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text).map_err(unreadable)?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(ConfigError::TooLarge { path: path.to_owned(), max: FILE_BYTES_MAX });
    }
    Ok(text)
}

/// Variables are applied in the order of their names, so that the result does not depend on the environment's order.
/// An empty variable counts as not set.
fn apply_environment(root: &mut Node, environment: impl IntoIterator<Item = (String, String)>) -> Vec<Problem> {
    let mut variables: Vec<(String, String)> = environment
        .into_iter()
        .filter(|(name, value)| name.starts_with(ENVIRONMENT_PREFIX) && !value.is_empty())
        .collect();
    variables.sort_by(|a, b| natural(&a.0).cmp(&natural(&b.0)));
    let mut problems = Vec::new();
    for (name, value) in variables {
        let origin = Origin::Environment(name.clone());
        let path = name[ENVIRONMENT_PREFIX.len()..].to_lowercase();
        let segments: Vec<&str> = path.split("__").collect();
        let outcome = if segments.iter().any(|segment| segment.is_empty()) {
            Err("an empty step in the path; write VERILANE__SECTION__SETTING".to_owned())
        } else {
            environment_node(&value, &origin).and_then(|node| root.set(&segments, node))
        };
        if let Err(message) = outcome {
            problems.push(Problem { path: segments.join("."), origin, message });
        }
    }
    problems
}

/// Numbers inside names compare as numbers, so that element 10 is set after element 9.
fn natural(name: &str) -> Vec<(usize, &str)> {
    name.split("__").map(|segment| (segment.parse().unwrap_or(0), segment)).collect()
}

/// A variable's value is a YAML value: a scalar, or a list or mapping in flow form. Text that is no YAML, such as
/// `[::1]:8080`, is taken as the text it is.
fn environment_node(value: &str, origin: &Origin) -> Result<Node, String> {
    match Node::from_yaml(value, Some(origin)) {
        Ok(node) => Ok(node),
        Err(_) => Ok(Node { value: tree::Value::Scalar(value.into()), origin: origin.clone() }),
    }
}

/// Types the settings. Each part that has the wrong type is reported and taken out, so that one run finds them all.
fn type_settings(whole: &Node, problems: &mut Vec<Problem>) -> Settings {
    let mut rest = whole.clone();
    let mut taken: Vec<Vec<Step>> = Vec::new();
    loop {
        let json = match rest.to_json() {
            serde_json::Value::Null => serde_json::Value::Object(serde_json::Map::new()),
            json => json,
        };
        let error = match serde_path_to_error::deserialize::<_, Settings>(json) {
            Ok(settings) => return settings,
            Err(error) => error,
        };
        let path: Vec<Step> = error
            .path()
            .iter()
            .filter_map(|segment| match segment {
                serde_path_to_error::Segment::Seq { index } => Some(Step::Index(*index)),
                serde_path_to_error::Segment::Map { key } => Some(Step::Name(key.clone())),
                serde_path_to_error::Segment::Enum { .. } | serde_path_to_error::Segment::Unknown => None,
            })
            .collect();
        let written = path_as_written(&path, &taken);
        // A part that lacks what was just taken out of it has been reported already.
        if !taken.iter().any(|gone| gone.starts_with(&written)) {
            problems.push(Problem {
                path: path_text(&written),
                origin: whole.origin_of(&written),
                message: tree::type_message(&error.inner().to_string()),
            });
        }
        if !rest.remove(&path) {
            return Settings::default();
        }
        taken.push(written);
    }
}

/// A path in a tree from which elements were taken, as a path in the tree as it was written.
fn path_as_written(path: &[Step], taken: &[Vec<Step>]) -> Vec<Step> {
    let mut written: Vec<Step> = Vec::with_capacity(path.len());
    for step in path {
        let Step::Index(mut index) = *step else {
            written.push(step.clone());
            continue;
        };
        let mut gone: Vec<usize> = taken
            .iter()
            .filter_map(|other| match other.split_last() {
                Some((Step::Index(index), parent)) if *parent == *written => Some(*index),
                _ => None,
            })
            .collect();
        gone.sort_unstable();
        for before in gone {
            index += usize::from(before <= index);
        }
        written.push(Step::Index(index));
    }
    written
}

fn rebase_paths(settings: &mut Settings, directory: &Path) {
    let rebase = |path: &mut Option<PathBuf>| {
        if let Some(path) = path.as_mut() {
            *path = directory.join(&*path);
        }
    };
    for issuer in &mut settings.issuers {
        rebase(&mut issuer.keys.jwks_file);
        rebase(&mut issuer.keys.pem_file);
        rebase(&mut issuer.keys.secret_file);
        rebase(&mut issuer.keys.ca_file);
    }
}

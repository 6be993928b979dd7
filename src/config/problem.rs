//! What is wrong with a configuration, said so that it can be mended: where, what, and what was probably meant.

use std::fmt;
use std::path::PathBuf;

/// Where a setting was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// In the configuration file.
    File {
        /// Line, from 1.
        line: u64,
        /// Column in characters, from 1.
        column: u64,
    },
    /// In the environment variable of that name.
    Environment(String),
    /// On the command line, with that flag.
    Flag(&'static str),
    /// Nowhere: the place where it should be.
    #[default]
    Nowhere,
}

/// One problem, or one warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The setting: `issuers[0].keys.jwks_url`; empty for the document as a whole.
    pub path: String,
    /// Where it was written.
    pub origin: Origin,
    /// What is wrong, one sentence.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.origin {
            Origin::File { line, column } => write!(f, "line {line}, column {column}: ")?,
            Origin::Environment(name) => write!(f, "environment variable {name}: ")?,
            Origin::Flag(name) => write!(f, "flag {name}: ")?,
            Origin::Nowhere => {}
        }
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)
    }
}

/// A configuration that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is larger than any configuration.
    #[error("{} is larger than {max} bytes", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The bound.
        max: u64,
    },
    /// Everything that is wrong with it, never empty.
    #[error("{}", list(.0))]
    Invalid(Vec<Problem>),
}

fn list(problems: &[Problem]) -> String {
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

//! Why a command could not be carried out, and what the person at the keyboard may do about it.

use std::fmt::Display;
use std::io;

use super::{EXIT_ACCEPTED, EXIT_ERROR};

/// A failed command: one message, perhaps a hint.
#[derive(Debug)]
pub(super) struct Failure {
    message: String,
    hint: Option<String>,
    /// The reader of our output went away (`verilane ... | head`): nothing to report, nothing failed.
    reader_gone: bool,
}

/// What a command ends with: its exit code, or why it failed.
pub(super) type Outcome = Result<u8, Failure>;

impl Failure {
    pub(super) fn new(message: impl Display) -> Self {
        Self { message: message.to_string(), hint: None, reader_gone: false }
    }

    pub(super) fn hint(mut self, hint: impl Display) -> Self {
        self.hint = Some(hint.to_string());
        self
    }

    /// Writing to standard output failed.
    pub(super) fn output(error: &io::Error) -> Self {
        let mut failure = Self::new(format!("cannot write the answer: {error}"));
        failure.reader_gone = error.kind() == io::ErrorKind::BrokenPipe;
        failure
    }

    /// Prints it to standard error; the exit code.
    pub(super) fn report(&self) -> u8 {
        if self.reader_gone {
            return EXIT_ACCEPTED;
        }
        eprintln!("error: {}", self.message);
        if let Some(hint) = &self.hint {
            eprintln!(" hint: {hint}");
        }
        EXIT_ERROR
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<crate::config::ConfigError> for Failure {
    fn from(error: crate::config::ConfigError) -> Self {
        match &error {
            crate::config::ConfigError::Invalid(problems) => {
                let lines: Vec<String> = problems.iter().map(|problem| format!("\n  {problem}")).collect();
                let count = problems.len();
                let noun = if count == 1 { "problem" } else { "problems" };
                Self::new(format!("the configuration has {count} {noun}:{}", lines.concat()))
                    .hint("docs/configuration.md explains every setting; docs/verilane.example.yaml shows them")
            }
            _ => Self::new(error),
        }
    }
}

impl From<super::minting::SigningError> for Failure {
    fn from(error: super::minting::SigningError) -> Self {
        Self::new(error)
    }
}

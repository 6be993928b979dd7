//! Why a command could not be carried out, and what the person at the keyboard may do about it.

use std::fmt::Display;
use std::io::{self, Write as _};

use super::{EXIT_ACCEPTED, EXIT_ERROR};

/// A failed command: one message, perhaps a hint.
#[derive(Debug)]
pub(super) struct Failure {
    message: String,
    hint: Option<String>,
    /// The reader of our output went away (`verilane ... | head`): nothing to report. What to exit with.
    reader_gone: Option<u8>,
}

/// What a command ends with: its exit code, or why it failed.
pub(super) type Outcome = Result<u8, Failure>;

impl Failure {
    pub(super) fn new(message: impl Display) -> Self {
        Self { message: message.to_string(), hint: None, reader_gone: None }
    }

    pub(super) fn hint(mut self, hint: impl Display) -> Self {
        self.hint = Some(hint.to_string());
        self
    }

    /// Writing to standard output failed. A reader that has seen enough is no failure.
    pub(super) fn output(error: &io::Error) -> Self {
        Self::unwritten(error, EXIT_ACCEPTED)
    }

    /// Writing a verdict to standard output failed. A reader that went away says nothing about the token, so the exit
    /// code must not either.
    pub(super) fn verdict_output(error: &io::Error) -> Self {
        Self::unwritten(error, EXIT_ERROR)
    }

    fn unwritten(error: &io::Error, without_reader: u8) -> Self {
        let mut failure = Self::new(format!("cannot write the answer: {error}"));
        failure.reader_gone = (error.kind() == io::ErrorKind::BrokenPipe).then_some(without_reader);
        failure
    }

    /// Prints it to standard error; the exit code.
    pub(super) fn report(&self) -> u8 {
        if let Some(code) = self.reader_gone {
            return code;
        }
        tell(format_args!("error: {}", self.message));
        if let Some(hint) = &self.hint {
            tell(format_args!(" hint: {hint}"));
        }
        EXIT_ERROR
    }
}

/// A line on standard error. If nobody can read it the exit code still counts: `eprintln!` would panic.
pub(super) fn tell(line: std::fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{line}");
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

//! Layer 5: composition and the command line. Owns arguments, exit codes and the order in which the service starts and
//! stops. The only module that signs anything, and only for `mint`, `keygen`, `bench` and the development issuer.

mod bench;
mod check;
mod cli;
mod cpu;
mod dev;
mod failure;
mod keygen;
mod limits;
mod lines;
mod memory;
mod mint;
mod minting;
mod serve;
mod sources;
mod verify;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};

use cli::{Cli, Command};

/// Exit code: every token was accepted, or the command did what it was asked.
const EXIT_ACCEPTED: u8 = 0;
/// Exit code: at least one token was rejected.
const EXIT_REJECTED: u8 = 1;
/// Exit code: the question could not be answered, or the command could not be carried out.
const EXIT_ERROR: u8 = 2;

/// Runs the command line: `arguments` as the operating system gives them, the program's name first.
#[must_use]
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            let code = if error.use_stderr() { EXIT_ERROR } else { EXIT_ACCEPTED };
            // A help text that cannot be written has nobody to be reported to.
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    let outcome = match cli.command {
        Command::Serve(arguments) => serve::run(&arguments),
        Command::Verify(arguments) => verify::run(&arguments),
        Command::Mint(arguments) => mint::run(&arguments),
        Command::Keygen(arguments) => keygen::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Cpu(arguments) => cpu::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
    };
    match outcome {
        Ok(code) => ExitCode::from(code),
        Err(failure) => ExitCode::from(failure.report()),
    }
}

/// The environment as text. A value that is not UTF-8 is kept with replacement characters, so that a setting in it is
/// refused rather than overlooked.
fn environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()))
}

/// The command line's definition, for the documentation tests.
#[must_use]
#[doc(hidden)]
pub fn command() -> clap::Command {
    Cli::command()
}

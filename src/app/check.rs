//! `verilane check`: whether a configuration can be served, what is in it, and what in it is loose.

use std::io::Write as _;

use super::cli::CheckArguments;
use super::failure::{Failure, Outcome};
use super::{EXIT_ACCEPTED, EXIT_ERROR, memory, sources};
use crate::config::{self, Settings};
use crate::kernel::KernelTable;

pub(super) fn run(arguments: &CheckArguments) -> Outcome {
    let mut out = std::io::stdout().lock();
    let written = |error: std::io::Error| Failure::output(&error);
    let Some(file) = &arguments.file else {
        let schema = serde_json::to_string_pretty(&config::schema()).map_err(Failure::new)?;
        writeln!(out, "{schema}").map_err(written)?;
        return Ok(EXIT_ACCEPTED);
    };
    let settings = config::load(Some(file), super::environment(), &[])?;
    let report = Report::new(&settings);
    writeln!(out, "{}", report.text).map_err(written)?;
    if report.failures == 0 {
        writeln!(out, "{} can be served", file.display()).map_err(written)?;
        return Ok(EXIT_ACCEPTED);
    }
    writeln!(out, "{} cannot be served: {} failures", file.display(), report.failures).map_err(written)?;
    Ok(EXIT_ERROR)
}

struct Report {
    text: String,
    failures: usize,
}

impl Report {
    fn new(settings: &Settings) -> Self {
        let mut report = Self { text: String::new(), failures: 0 };
        report.line(format!("data listener   {}", settings.listen.data));
        report.line(format!("admin listener  {}", settings.listen.admin));
        let kernels = match KernelTable::select(&settings.engine.kernels) {
            Ok(kernels) => Some(kernels),
            Err(error) => {
                report.fail(format!("engine.kernels: {error}"));
                None
            }
        };
        report.line(String::new());
        report.line("issuers".to_owned());
        for issuer in &settings.issuers {
            report.line(format!("  {} ({})", issuer.name, issuer.issuer));
            let Some(source) = sources::local_source(issuer) else {
                match sources::remote_source(settings, issuer) {
                    Ok(Some(remote)) => {
                        report.line(format!("    keys      not looked at: to be fetched from {}", remote.describe()))
                    }
                    Ok(None) => {}
                    Err(failure) => report.fail(failure.to_string()),
                }
                continue;
            };
            match source.load(&sources::document_limits(settings)) {
                Ok((set, found)) => {
                    report.line(format!("    keys      {} from {}", set.keys().len(), source.describe()));
                    for key in set.keys() {
                        let id = key.key_id.as_deref().map_or("no kid".to_owned(), |id| format!("kid {id:?}"));
                        let names: Vec<&str> = key.algorithms.iter().map(|algorithm| algorithm.name()).collect();
                        report.line(format!("              {id}: {}", names.join(" ")));
                    }
                    found.skipped.iter().for_each(|line| report.line(format!("    skipped   {line}")));
                    found.warnings.iter().for_each(|line| report.line(format!("    warning   {line}")));
                }
                Err(error) => report.fail(format!("issuer {}: {error}", issuer.name)),
            }
        }
        if let Some(kernels) = kernels {
            report.line(String::new());
            report.line("memory, at most".to_owned());
            for line in memory::plan(settings, crate::runtime::cores(), &kernels) {
                report.line(format!("  {:<16} {:>10}  {}", line.what, line.bytes.to_string(), line.how));
            }
        }
        let warnings = config::warnings(settings);
        if !warnings.is_empty() {
            report.line(String::new());
        }
        for warning in warnings {
            report.line(format!("warning: {warning}"));
        }
        report
    }

    fn line(&mut self, line: String) {
        self.text.push_str(&line);
        self.text.push('\n');
    }

    fn fail(&mut self, message: String) {
        self.failures += 1;
        self.line(format!("FAIL: {message}"));
    }
}

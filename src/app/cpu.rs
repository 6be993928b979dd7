//! `verilane cpu`: what this CPU has, which kernel was chosen for every scheme, and why the others were not.

use std::io::Write as _;

use serde_json::json;

use super::EXIT_ACCEPTED;
use super::cli::CpuArguments;
use super::failure::{Failure, Outcome};
use crate::admin::KernelReport;
use crate::kernel::{self, KatFailure, KernelTable, cpu};

pub(super) fn run(arguments: &CpuArguments) -> Outcome {
    let (table, failures) = tested_kernels(&arguments.kernel)?;
    let report = KernelReport::new(&table, &failures);
    let text = if arguments.json { format!("{:#}\n", json!(report)) } else { as_text(&report) };
    std::io::stdout().lock().write_all(text.as_bytes()).map_err(|error| Failure::output(&error))?;
    Ok(EXIT_ACCEPTED)
}

/// Chooses kernels and runs their known answers. A kernel that fails is replaced; if none of a scheme passes, nothing
/// may be verified on this machine.
pub(super) fn tested_kernels(forced: &[String]) -> Result<(KernelTable, Vec<KatFailure>), Failure> {
    let mut table = KernelTable::select(forced)
        .map_err(|error| Failure::new(error).hint("`verilane cpu` shows the kernels and what they need"))?;
    match kernel::self_test(&mut table) {
        Ok(failures) => Ok((table, failures)),
        Err(failures) => {
            let lines: Vec<String> = failures.iter().map(|failure| format!("\n  {failure}")).collect();
            let message = format!("no kernel gives the right answers for some scheme:{}", lines.concat());
            Err(Failure::new(message).hint("this machine cannot be trusted to verify; look at its memory and CPU"))
        }
    }
}

fn as_text(report: &KernelReport) -> String {
    use std::fmt::Write as _;

    let mut text = String::new();
    let brand = report.cpu.unwrap_or("unnamed CPU");
    let _ = writeln!(text, "{brand} ({})\n\nFeatures", report.architecture);
    for feature in &report.features {
        let mark = if feature.present { "yes" } else { "no" };
        let _ = writeln!(text, "  {:<16} {mark:<4} {}", feature.name, feature.note);
    }
    for name in &report.unknown_disabled {
        let _ =
            writeln!(text, "  {name:<16} ?    named in {}, and no feature of this architecture", cpu::DISABLE_VARIABLE);
    }
    let _ = writeln!(text, "\nKernels");
    for kernel in &report.kernels {
        let lanes = if kernel.lanes == 1 { "1 lane".to_owned() } else { format!("{} lanes", kernel.lanes) };
        let forced = if kernel.forced { ", forced" } else { "" };
        let _ = writeln!(text, "  {:<24} {} ({lanes}{forced})", kernel.scheme, kernel.backend);
        for candidate in &kernel.candidates {
            if let Some(reason) = &candidate.not_chosen {
                let _ = writeln!(text, "  {:<24}   not {}: {reason}", "", candidate.backend);
            }
        }
    }
    if !report.key_tables.is_empty() {
        let _ = writeln!(text, "\nTables of Ed25519 keys, by tier (bytes a key; keys.table_memory bounds the sum)");
        for table in &report.key_tables {
            let _ = writeln!(text, "  {:<24} {}", table.tier, table.bytes);
        }
    }
    let _ = match report.self_test_failures.len() {
        0 => writeln!(text, "\nSelf-test: every kernel gave the right answers."),
        count => writeln!(text, "\nSelf-test: {count} kernels gave wrong answers and were replaced."),
    };
    text
}

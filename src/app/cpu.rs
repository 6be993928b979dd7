//! `verilane cpu`: what this CPU has, which kernel was chosen for every scheme, and why the others were not.

use std::io::Write as _;

use serde_json::{Value, json};

use super::EXIT_ACCEPTED;
use super::cli::CpuArguments;
use super::failure::{Failure, Outcome};
use crate::kernel::{self, KatFailure, KernelTable, Scheme, cpu};

pub(super) fn run(arguments: &CpuArguments) -> Outcome {
    let (table, failures) = tested_kernels(&arguments.kernel)?;
    let text = if arguments.json { format!("{:#}\n", as_json(&table, &failures)) } else { as_text(&table, &failures) };
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

/// Why an entry of the registry is not the chosen one.
fn why_not(table: &KernelTable, failures: &[KatFailure], entry: &kernel::Entry) -> Option<String> {
    let selection = table.get(entry.scheme);
    if selection.backend == entry.backend {
        return None;
    }
    let failed = failures.iter().find(|failure| failure.scheme == entry.scheme && failure.backend == entry.backend);
    Some(if let Some(failure) = failed {
        format!("failed its self-test: {}", failure.what)
    } else if (entry.open)().is_none() {
        format!("needs {}", entry.needs)
    } else if selection.forced {
        format!("{} is forced", selection.backend)
    } else {
        format!("{} is faster", selection.backend)
    })
}

fn as_json(table: &KernelTable, failures: &[KatFailure]) -> Value {
    let features: Vec<Value> = cpu::features()
        .iter()
        .map(|feature| json!({ "name": feature.name, "present": feature.present, "note": feature.note }))
        .collect();
    let schemes: Vec<Value> = Scheme::ALL
        .into_iter()
        .map(|scheme| {
            let selection = table.get(scheme);
            let others: Vec<Value> = kernel::entries(scheme)
                .filter_map(|entry| {
                    let reason = why_not(table, failures, entry)?;
                    Some(json!({ "backend": entry.backend, "available": (entry.open)().is_some(), "reason": reason }))
                })
                .collect();
            json!({
                "scheme": scheme.name(),
                "backend": selection.backend,
                "lanes": selection.kernel.lanes(),
                "forced": selection.forced,
                "not_chosen": others,
            })
        })
        .collect();
    json!({
        "architecture": cpu::architecture(),
        "brand": cpu::brand(),
        "features": features,
        "unknown_disabled": cpu::unknown_disabled(),
        "kernels": schemes,
        "self_test": {
            "passed": true,
            "replaced": failures.iter().map(ToString::to_string).collect::<Vec<_>>(),
        },
    })
}

fn as_text(table: &KernelTable, failures: &[KatFailure]) -> String {
    use std::fmt::Write as _;

    let mut text = String::new();
    let brand = cpu::brand().unwrap_or("unnamed CPU");
    let _ = writeln!(text, "{brand} ({})\n\nFeatures", cpu::architecture());
    for feature in cpu::features() {
        let mark = if feature.present { "yes" } else { "no" };
        let _ = writeln!(text, "  {:<16} {mark:<4} {}", feature.name, feature.note);
    }
    for name in cpu::unknown_disabled() {
        let _ =
            writeln!(text, "  {name:<16} ?    named in {}, and no feature of this architecture", cpu::DISABLE_VARIABLE);
    }
    let _ = writeln!(text, "\nKernels");
    for scheme in Scheme::ALL {
        let selection = table.get(scheme);
        let lanes = selection.kernel.lanes();
        let lanes = if lanes == 1 { "1 lane".to_owned() } else { format!("{lanes} lanes") };
        let forced = if selection.forced { ", forced" } else { "" };
        let _ = writeln!(text, "  {:<24} {} ({lanes}{forced})", scheme.name(), selection.backend);
        for entry in kernel::entries(scheme) {
            if let Some(reason) = why_not(table, failures, entry) {
                let _ = writeln!(text, "  {:<24}   not {}: {reason}", "", entry.backend);
            }
        }
    }
    let _ = match failures {
        [] => writeln!(text, "\nSelf-test: every kernel gave the right answers."),
        _ => writeln!(text, "\nSelf-test: {} kernels gave wrong answers and were replaced.", failures.len()),
    };
    text
}

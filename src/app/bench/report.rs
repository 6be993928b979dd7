//! The figures, for people and for machines, and what to know before believing them.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use super::contest::Figures;
use super::{Event, Given};
use crate::kernel::{Tier, cpu};

/// Whose figures a row has.
#[derive(Clone, Copy, Debug)]
pub(super) enum Subject {
    /// A kernel, called with so many jobs at a time.
    Kernel {
        backend: &'static str,
        jobs: usize,
        /// The tables its keys have.
        tier: Option<Tier>,
    },
    /// A library, called with one signature at a time.
    Library { name: &'static str },
}

pub(super) struct Row {
    pub(super) event: Event,
    pub(super) subject: Subject,
    pub(super) figures: Figures,
}

pub(super) struct Report {
    pub(super) ticks_per_ns: Option<f64>,
    pub(super) pinned: Option<usize>,
    pub(super) time: Duration,
    pub(super) rsa_bits: usize,
    /// Rows of one event stand together.
    pub(super) rows: Vec<Row>,
}

/// What favours whom, and what a figure is not.
const NOTES: [&str; 8] = [
    "This is the check of signatures alone, on one thread. Reading, parsing, keys, claims and answers come on top.",
    "Kernels and libraries take turns of 2 ms in one process, each after 1 ms of warm-up; figures are medians of turns, in CPU \
     time. Code, tables and branch predictors are warm, which favours everyone and tables most: a lone token after a pause costs more.",
    "All signatures are good, and every verdict was looked at. Before, each kernel was given bad ones among good ones.",
    "Libraries are called one signature at a time, in the form they are linked into this program: built for any CPU of \
     this architecture, with whatever they choose at run time. Built for one CPU, some are faster.",
    "Prepared keys are decoded, and have their tables, before the clock starts, on both sides. By value, decoding and \
     preparation are counted for every signature, on both sides; 256 different keys for Ed25519.",
    "Tables of prepared keys (bare, small, medium, large, full) are for kernels in lanes; other kernels and libraries do not \
     have them. A service gives the larger ones to keys with much traffic, within its memory for keys.",
    "Messages are random bytes. A contest walks through many different ones, sixteen times as many as a \
     long run has for Ed25519, so they come from the outer caches or from memory, as those of a network would.",
    "Cycles are ticks of the time stamp counter, not of the core's own, changing clock.",
];

impl Report {
    pub(super) fn as_json(&self) -> Value {
        let rows: Vec<Value> = self
            .events()
            .flat_map(|rows| {
                rows.iter().map(|row| {
                    let (kind, name, jobs, tier) = match row.subject {
                        Subject::Kernel { backend, jobs, tier } => ("kernel", backend, jobs, tier),
                        Subject::Library { name } => ("library", name, 1, None),
                    };
                    let ratios: Vec<Value> = match row.subject {
                        Subject::Kernel { .. } => libraries(rows)
                            .map(|(name, figures)| json!({ "library": name, "ratio": figures.median / row.figures.median }))
                            .collect(),
                        Subject::Library { .. } => Vec::new(),
                    };
                    json!({
                        "scheme": row.event.scheme.name(),
                        "message_bytes": row.event.message_len,
                        "keys": row.event.keys,
                        "key_given": match row.event.given {
                            Given::Prepared => "prepared",
                            Given::ByValue => "by_value",
                        },
                        "tier": tier.map(Tier::name),
                        "kind": kind,
                        "name": name,
                        "jobs_per_call": jobs,
                        "per_second": 1e9 / row.figures.median,
                        "ns": row.figures.median,
                        "ns_lower_quartile": row.figures.lower_quartile,
                        "ns_upper_quartile": row.figures.upper_quartile,
                        "cycles": self.ticks_per_ns.map(|rate| row.figures.median * rate),
                        "turns": row.figures.turns,
                        "times_as_fast_as": ratios,
                    })
                })
            })
            .collect();
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "cpu": {
                "brand": cpu::brand(),
                "architecture": cpu::architecture(),
                "tsc_hz": self.ticks_per_ns.map(|rate| rate * 1e9),
                "pinned_to": self.pinned,
            },
            "milliseconds_per_row": self.time.as_secs_f64() * 1e3,
            "rsa_bits": self.rsa_bits,
            "rows": rows,
            "notes": NOTES,
        })
    }

    pub(super) fn as_text(&self) -> String {
        let mut text = String::new();
        let brand = cpu::brand().unwrap_or("unnamed CPU");
        let counter = self.ticks_per_ns.map_or(String::new(), |rate| format!(", time stamp counter {rate:.3} GHz"));
        let pinned = self.pinned.map_or(String::new(), |cpu| format!(", on CPU {cpu} alone"));
        let _ = writeln!(text, "{brand} ({}){counter}{pinned}", cpu::architecture());
        for rows in self.events() {
            self.event_as_text(&mut text, rows);
        }
        let _ = writeln!(text, "\nNotes");
        for note in NOTES {
            let _ = writeln!(text, "- {note}");
        }
        text
    }

    fn event_as_text(&self, text: &mut String, rows: &[Row]) {
        let Some(first) = rows.first() else { return };
        let is_rsa = first.event.scheme.name().starts_with("rsa");
        let size = if is_rsa { format!(", {} bits", self.rsa_bits) } else { String::new() };
        let _ = writeln!(text, "\n{}{size}", first.event);
        let _ = write!(text, "  {:<30}{:>6}{:>13}{:>11}", "", "jobs", "per second", "ns");
        if self.ticks_per_ns.is_some() {
            let _ = write!(text, "{:>11}", "cycles");
        }
        let letters = ('a'..='z').zip(libraries(rows));
        for (letter, _) in letters.clone() {
            let _ = write!(text, "{:>9}", format!("x {letter}"));
        }
        text.push('\n');
        for row in rows {
            let (name, jobs) = match row.subject {
                Subject::Kernel { backend, jobs, .. } => (backend.to_owned(), jobs.to_string()),
                Subject::Library { name } => {
                    let letter = letters.clone().find(|(_, (library, _))| *library == name);
                    (letter.map_or(name.to_owned(), |(letter, _)| format!("{letter}: {name}")), String::new())
                }
            };
            let ns = row.figures.median;
            let _ = write!(text, "  {name:<30}{jobs:>6}{:>13}{:>11}", grouped(1e9 / ns), with_precision(ns));
            if let Some(rate) = self.ticks_per_ns {
                let _ = write!(text, "{:>11}", grouped(ns * rate));
            }
            if matches!(row.subject, Subject::Kernel { .. }) {
                for (_, (_, library)) in letters.clone() {
                    let _ = write!(text, "{:>9.2}", library.median / ns);
                }
            }
            text.push('\n');
        }
    }

    /// The rows, one slice an event.
    fn events(&self) -> impl Iterator<Item = &[Row]> {
        self.rows.chunk_by(|a, b| a.event == b.event)
    }
}

/// The libraries among the rows of an event.
fn libraries(rows: &[Row]) -> impl Iterator<Item = (&'static str, Figures)> + Clone {
    rows.iter().filter_map(|row| match row.subject {
        Subject::Library { name } => Some((name, row.figures)),
        Subject::Kernel { .. } => None,
    })
}

/// A whole number with its digits in threes.
fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Short times with a digit behind the point.
fn with_precision(ns: f64) -> String {
    if ns < 1000.0 { format!("{ns:.1}") } else { grouped(ns) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_stand_in_threes() {
        for (number, text) in [(0.0, "0"), (999.4, "999"), (999.6, "1,000"), (1_234_567.0, "1,234,567")] {
            assert_eq!(grouped(number), text);
        }
        assert_eq!((with_precision(12.34), with_precision(40_000.0)), ("12.3".to_owned(), "40,000".to_owned()));
    }
}

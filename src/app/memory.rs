//! The most memory the configured bounds add up to: printed at start and by `verilane check`.

use crate::config::{Settings, Size};
use crate::engine::{Engine, EngineConfig};
use crate::http::ConnectionSettings;
use crate::kernel::KernelTable;

/// What the process takes before its first request: code, allocator, runtimes.
const BASE: Size = Size::mib(32);
/// The largest key with its entry in a set: RSA of 8192 bits, parsed once for each of its six schemes.
const KEY_BYTES: u64 = 32 * 1024;
/// What a connection holds besides the buffers that are configured: sockets, tasks, protocol state.
const CONNECTION_BYTES: u64 = 32 * 1024;

/// One line of the sum.
pub(super) struct Line {
    pub(super) what: &'static str,
    pub(super) bytes: Size,
    /// How it was computed.
    pub(super) how: String,
}

/// Every bounded thing and the total, which is the last line. A ceiling: what is reached only if every connection
/// does the most it may at once.
pub(super) fn plan(settings: &Settings, cores: usize, kernels: &KernelTable) -> Vec<Line> {
    let shards = settings.engine.shards.resolve(cores);
    let shards_wide = shards as u64;
    let ahead = Size(u64::from(ConnectionSettings::default().connection_window_bytes));
    let (http, keys) = (&settings.http, &settings.keys);
    let config = engine_config(settings);
    let connections = http.connections_max as u64;
    let issuers = settings.issuers.len() as u64;
    let engine = Engine::new(shards, kernels, &config).memory_bytes() as u64;
    let in_slots = shards_wide * config.slots_per_shard as u64;
    let mut lines = vec![
        line("process", BASE.0, "code, allocator, runtimes".to_owned()),
        line("engine", engine, format!("{shards} shards of {} slots", config.slots_per_shard)),
        line(
            "tokens in slots",
            in_slots.saturating_mul(settings.limits.token.0),
            format!("{in_slots} slots, tokens of {}", settings.limits.token),
        ),
        line(
            "connections",
            connections.saturating_mul(CONNECTION_BYTES.saturating_add(http.headers.0).saturating_add(ahead.0)),
            format!("{connections} with headers of {} and {ahead} sent ahead", http.headers),
        ),
        line(
            "requests",
            shards_wide.saturating_mul(http.held_per_shard.0),
            format!("{shards} shards of {}, answers included", http.held_per_shard),
        ),
        line(
            "key sets",
            issuers.saturating_mul(keys.keys_max as u64 * KEY_BYTES + 2 * keys.document.0),
            format!("{issuers} issuers, {} keys, documents of {}", keys.keys_max, keys.document),
        ),
        line("key tables", keys.table_memory.0, "all issuers together".to_owned()),
    ];
    let total = lines.iter().fold(0_u64, |sum, line| sum.saturating_add(line.bytes.0));
    lines.push(line("total", total, "if everything is at its bound at once".to_owned()));
    lines
}

fn line(what: &'static str, bytes: u64, how: String) -> Line {
    Line { what, bytes: Size(bytes), how }
}

/// The engine's part of the settings.
pub(super) fn engine_config(settings: &Settings) -> EngineConfig {
    EngineConfig {
        slots_per_shard: settings.engine.slots_per_shard,
        turn_budget: settings.engine.turn_budget.0,
        spill: settings.engine.spill,
    }
}

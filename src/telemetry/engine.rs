//! Metrics of the engine and its kernels.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;

use super::metrics::{Page, number};
use crate::engine::{Engine, StatsSnapshot};
use crate::kernel::Scheme;

/// How one number is read.
type Read = fn(&StatsSnapshot) -> u64;

/// Reads the counters of every shard.
#[derive(Debug)]
pub(super) struct EngineStats(pub(super) Engine);

impl EngineStats {
    fn shards(&self) -> Vec<(String, StatsSnapshot)> {
        (0..self.0.shards()).map(|index| (index.to_string(), self.0.stats(index).snapshot())).collect()
    }
}

impl Collector for EngineStats {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut page = Page(encoder);
        let shards = self.shards();
        let counters: [(&str, &str, Read); 8] = [
            ("submitted", "Jobs that took a slot", |stats| stats.submitted),
            ("good", "Jobs whose signature was good", |stats| stats.good),
            ("bad", "Jobs whose signature was not good", |stats| stats.bad),
            ("deadline_exceeded", "Jobs dropped before they took a lane", |stats| stats.deadline_exceeded),
            ("overloaded", "Jobs refused for want of a slot", |stats| stats.overloaded),
            ("abandoned", "Jobs whose asker went away", |stats| stats.abandoned),
            ("groups_spilled_out", "Lane groups handed to another shard", |stats| stats.spilled_out),
            ("groups_spilled_in", "Lane groups run for another shard", |stats| stats.spilled_in),
        ];
        for (name, help, read) in counters {
            let what = if name.starts_with("groups") { name.to_owned() } else { format!("jobs_{name}") };
            let lines = shards.iter().map(|(shard, stats)| (vec![("shard", shard.as_str())], number(read(stats))));
            page.counter(&format!("verilane_engine_{what}"), help, lines)?;
        }
        page.counter(
            "verilane_engine_groups",
            "Lane groups run, by why they ran when they did",
            shards.iter().flat_map(|(shard, stats)| {
                [("full", stats.flushed_full), ("idle", stats.flushed_idle), ("budget", stats.flushed_budget)]
                    .map(|(why, groups)| (vec![("shard", shard.as_str()), ("flush", why)], number(groups)))
            }),
        )?;
        page.histogram(
            "verilane_engine_group_jobs",
            "Jobs in a lane group when it ran: the fill",
            shards.iter().map(|(shard, stats)| {
                let sizes = || (1_u32..).zip(stats.fill);
                let sum = sizes().map(|(size, groups)| f64::from(size) * number(groups)).sum();
                let buckets = sizes().map(|(size, groups)| (f64::from(size), groups)).collect();
                (vec![("shard", shard.as_str())], sum, stats.fill.iter().sum(), buckets)
            }),
        )?;
        let per_scheme = |read: fn(&StatsSnapshot, usize) -> f64| {
            let shards = &shards;
            Scheme::ALL.into_iter().map(move |scheme| {
                let sum = shards.iter().map(|(_, stats)| read(stats, scheme.index())).sum::<f64>();
                (vec![("scheme", scheme.name())], sum)
            })
        };
        page.counter(
            "verilane_kernel_jobs",
            "Jobs that kernels ran, by scheme",
            per_scheme(|stats, scheme| number(stats.schemes[scheme].jobs)),
        )?;
        page.counter(
            "verilane_kernel_groups",
            "Lane groups that kernels ran, by scheme",
            per_scheme(|stats, scheme| number(stats.schemes[scheme].groups)),
        )?;
        page.counter(
            "verilane_kernel_seconds",
            "Wall time inside kernels, by scheme",
            per_scheme(|stats, scheme| stats.schemes[scheme].kernel_time.as_secs_f64()),
        )?;
        let gauge = |read: Read| {
            shards.iter().map(move |(shard, stats)| (vec![("shard", shard.as_str())], number(read(stats))))
        };
        page.gauge("verilane_engine_slots_in_use", "Slots in use now", gauge(|stats| stats.slots_in_use))?;
        page.gauge(
            "verilane_engine_slots_in_use_max",
            "The most slots that were in use at once, since start",
            gauge(|stats| stats.slots_in_use_max),
        )
    }
}

//! The metrics page: everything is read when it is asked for.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeGaugeValue, prometheus_text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::exemplar::Exemplar;
use prometheus_client::registry::Registry;

use super::checks::{CheckMetrics, Kind};
use super::engine::EngineStats;
use super::process::ProcessStats;
use crate::engine::Engine;
use crate::kernel::{KernelTable, Scheme, Tier};
use crate::runtime::ConnectionStats;
use crate::verify::Verifier;

/// Media type of the page.
pub const METRICS_CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Where values come from.
#[derive(Clone, Debug)]
pub struct MetricsSources {
    /// Counters of checks.
    pub checks: Arc<CheckMetrics>,
    /// Issuers and their keys.
    pub verifier: Arc<ArcSwap<Verifier>>,
    /// Counters of the engine.
    pub engine: Engine,
    /// Kernels in use.
    pub kernels: KernelTable,
}

/// The metrics of the process.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
}

impl Metrics {
    /// Metrics from these sources.
    #[must_use]
    pub fn new(sources: MetricsSources) -> Self {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(Checks(sources.checks)));
        registry.register_collector(Box::new(EngineStats(sources.engine)));
        registry.register_collector(Box::new(Keys(sources.verifier)));
        registry.register_collector(Box::new(Build(sources.kernels)));
        registry.register_collector(Box::new(Process));
        Self { registry }
    }

    /// The same, with the connections that `read` tells of.
    #[must_use]
    pub fn with_connections(mut self, read: impl Fn() -> ConnectionStats + Send + Sync + 'static) -> Self {
        self.registry.register_collector(Box::new(Connections(Box::new(read))));
        self
    }

    /// The same, with the count of lost log lines that `read` tells.
    #[must_use]
    pub fn with_lost_log_lines(mut self, read: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        self.registry.register_collector(Box::new(LostLogLines(Box::new(read))));
        self
    }

    /// The page, in the text format of Prometheus.
    ///
    /// # Errors
    /// If a value cannot be written, which only a fault of ours brings about.
    pub fn encode(&self) -> Result<String, fmt::Error> {
        let mut page = String::with_capacity(16 * 1024);
        prometheus_text::encode(&mut page, &self.registry)?;
        Ok(page)
    }
}

pub(super) type Labels<'a> = Vec<(&'a str, &'a str)>;
/// Names the label type of the exemplars that no counter here has.
const NO_EXEMPLAR: Option<&Exemplar<Labels<'static>, u64>> = None;

/// Writes families: one name, any number of lines.
pub(super) struct Page<'a>(pub(super) DescriptorEncoder<'a>);

impl Page<'_> {
    pub(super) fn counter<'l>(
        &mut self,
        name: &str,
        help: &str,
        lines: impl IntoIterator<Item = (Labels<'l>, f64)>,
    ) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help, None, MetricType::Counter)?;
        for (labels, value) in lines {
            family.encode_family(&labels)?.encode_counter(&value, NO_EXEMPLAR)?;
        }
        Ok(())
    }

    pub(super) fn gauge<'l, V: EncodeGaugeValue>(
        &mut self,
        name: &str,
        help: &str,
        lines: impl IntoIterator<Item = (Labels<'l>, V)>,
    ) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for (labels, value) in lines {
            family.encode_family(&labels)?.encode_gauge(&value)?;
        }
        Ok(())
    }

    pub(super) fn histogram<'l>(
        &mut self,
        name: &str,
        help: &str,
        lines: impl IntoIterator<Item = (Labels<'l>, f64, u64, Vec<(f64, u64)>)>,
    ) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help, None, MetricType::Histogram)?;
        for (labels, sum, count, buckets) in lines {
            family.encode_family(&labels)?.encode_histogram::<Labels<'_>>(sum, count, &buckets, None)?;
        }
        Ok(())
    }
}

/// Counters are whole numbers; beyond 2^53 a scrape loses the last digits, as Prometheus itself does.
#[allow(clippy::cast_precision_loss, reason = "Prometheus stores f64")]
pub(super) const fn number(count: u64) -> f64 {
    count as f64
}

#[derive(Debug)]
struct Checks(Arc<CheckMetrics>);

impl Collector for Checks {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut page = Page(encoder);
        for (kind, name, help) in [
            (Kind::Token, "verilane_checks", "Tokens answered, by verdict, reason or error, algorithm and issuer"),
            (
                Kind::Signature,
                "verilane_signature_checks",
                "Raw signatures answered, by verdict, reason or error, algorithm and issuer",
            ),
        ] {
            let counts = self.0.counts(kind);
            page.counter(
                name,
                help,
                counts.iter().map(|each| {
                    let labels = vec![
                        ("verdict", each.verdict),
                        ("reason", each.reason),
                        ("algorithm", each.algorithm),
                        ("issuer", each.issuer),
                    ];
                    (labels, number(each.count))
                }),
            )?;
        }
        page.histogram(
            "verilane_check_duration_seconds",
            "From the arrival of a question to its answer, without the time on the wire",
            Kind::ALL.map(|kind| {
                let durations = self.0.durations(kind);
                let label = match kind {
                    Kind::Token => "token",
                    Kind::Signature => "signature",
                };
                (vec![("kind", label)], durations.sum_s, durations.count, durations.buckets)
            }),
        )
    }
}

#[derive(Debug)]
struct Keys(Arc<ArcSwap<Verifier>>);

impl Collector for Keys {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut page = Page(encoder);
        let verifier = self.0.load();
        let now = Instant::now();
        let issuers: Vec<_> =
            verifier.issuers().iter().map(|issuer| (issuer.name.as_ref(), issuer.keys.status())).collect();
        let seconds = |duration: Duration| duration.as_secs_f64();
        page.gauge(
            "verilane_keys",
            "Usable keys of an issuer",
            issuers.iter().map(|(name, status)| {
                let keys = if status.usable(now) { status.keys } else { 0 };
                (vec![("issuer", *name)], number(keys as u64))
            }),
        )?;
        page.gauge(
            "verilane_keys_age_seconds",
            "Time since the source last gave or confirmed the key set",
            issuers.iter().filter_map(|(name, status)| Some((vec![("issuer", *name)], seconds(status.age(now)?)))),
        )?;
        page.gauge(
            "verilane_keys_next_refresh_seconds",
            "Time until the source is asked next",
            issuers.iter().filter_map(|(name, status)| {
                let next = status.next_refresh?.saturating_duration_since(now);
                Some((vec![("issuer", *name)], seconds(next)))
            }),
        )?;
        page.gauge(
            "verilane_keys_generation",
            "Number of the key set in use; it grows with every change",
            issuers.iter().map(|(name, status)| (vec![("issuer", *name)], number(status.generation))),
        )?;
        page.gauge(
            "verilane_keys_skipped",
            "Entries of the key set that cannot be used",
            issuers.iter().map(|(name, status)| (vec![("issuer", *name)], number(status.skipped.len() as u64))),
        )?;
        page.counter(
            "verilane_keys_refreshes",
            "Attempts to get the key set, by result",
            issuers.iter().flat_map(|(name, status)| {
                [("ok", status.successes), ("error", status.failures)]
                    .map(|(result, count)| (vec![("issuer", *name), ("result", result)], number(count)))
            }),
        )?;
        page.counter(
            "verilane_keys_refetches",
            "Fetches asked for by a token with an unknown kid",
            issuers.iter().map(|(name, status)| (vec![("issuer", *name)], number(status.refetches))),
        )?;
        let tables: Vec<_> = verifier
            .issuers()
            .iter()
            .flat_map(|issuer| {
                let tiers: Vec<(Tier, usize)> = issuer
                    .keys
                    .prepared_keys()
                    .iter()
                    .filter_map(|key| key.tier().map(|tier| (tier, key.tier_bytes(tier))))
                    .collect();
                Tier::ALL.into_iter().filter_map(move |tier| {
                    let bytes = tiers.iter().filter(|(of, _)| *of == tier).map(|(_, bytes)| *bytes);
                    let keys = bytes.clone().count();
                    (keys > 0).then(|| (issuer.name.as_ref(), tier, keys, bytes.sum::<usize>()))
                })
            })
            .collect();
        let labels = |issuer, tier: Tier| vec![("issuer", issuer), ("tier", tier.name())];
        page.gauge(
            "verilane_keys_tables",
            "Keys of an issuer that can have tables, by the tier of the one they have",
            tables.iter().map(|(issuer, tier, keys, _)| (labels(*issuer, *tier), number(*keys as u64))),
        )?;
        page.gauge(
            "verilane_keys_table_bytes",
            "Memory of the tables of an issuer's keys, by tier",
            tables.iter().map(|(issuer, tier, _, bytes)| (labels(*issuer, *tier), number(*bytes as u64))),
        )
    }
}

#[derive(Debug)]
struct Build(KernelTable);

impl Collector for Build {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut page = Page(encoder);
        let version = env!("CARGO_PKG_VERSION");
        page.gauge("verilane_build_info", "Version of the program", [(vec![("version", version)], 1.0)])?;
        page.gauge(
            "verilane_kernel_info",
            "The kernel in use for each scheme",
            Scheme::ALL.into_iter().map(|scheme| {
                let chosen = self.0.get(scheme);
                let forced = if chosen.forced { "true" } else { "false" };
                (vec![("scheme", scheme.name()), ("backend", chosen.backend), ("forced", forced)], 1.0)
            }),
        )
    }
}

struct Connections(Box<dyn Fn() -> ConnectionStats + Send + Sync>);

impl fmt::Debug for Connections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Connections(..)")
    }
}

impl Collector for Connections {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut page = Page(encoder);
        let stats = (self.0)();
        let shards: Vec<String> = (0..stats.open.len()).map(|shard| shard.to_string()).collect();
        page.gauge(
            "verilane_connections",
            "Open connections of clients",
            shards.iter().zip(&stats.open).map(|(shard, open)| (vec![("shard", shard.as_str())], number(*open as u64))),
        )?;
        let one = |count| [(Vec::new(), number(count))];
        page.counter("verilane_connections_accepted", "Connections given to a shard", one(stats.accepted))?;
        page.counter("verilane_connections_refused", "Connections closed at the limit", one(stats.refused))
    }
}

struct LostLogLines(Box<dyn Fn() -> u64 + Send + Sync>);

impl fmt::Debug for LostLogLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LostLogLines(..)")
    }
}

impl Collector for LostLogLines {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Log lines that were not written: standard error was not read, or could not be written to";
        Page(encoder).counter("verilane_log_lines_lost", help, [(Vec::new(), number((self.0)()))])
    }
}

#[derive(Debug)]
struct Process;

impl Collector for Process {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut page = Page(encoder);
        let stats = ProcessStats::read();
        let line = |value: Option<f64>| value.map(|value| (Vec::new(), value));
        page.counter("process_cpu_seconds", "Processor time used", line(stats.cpu_s))?;
        for (name, help, value) in [
            ("process_resident_memory_bytes", "Memory in RAM", stats.resident_bytes.map(number)),
            ("process_threads", "Threads", stats.threads.map(number)),
            ("process_open_fds", "Open file descriptors", stats.open_fds.map(number)),
            ("process_max_fds", "File descriptors allowed", stats.max_fds.map(number)),
            ("process_start_time_seconds", "Start, seconds since 1970", stats.start_time_s),
        ] {
            page.gauge(name, help, line(value))?;
        }
        Ok(())
    }
}

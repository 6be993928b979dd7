//! Logs and metrics. Owns how both look; decides nothing. Neither ever holds a token, a payload, a claim or a key.
//!
//! Counters of checks live with the shard that writes them: plain relaxed loads and stores, no locked instruction and
//! no line shared between shards. A scrape sums them up.

mod checks;
mod engine;
mod logging;
mod metrics;
mod process;

pub use checks::{CheckMetrics, ShardObserver};
pub use logging::{LogFormat, Logging, LoggingError, init_logging};
pub use metrics::{METRICS_CONTENT_TYPE, Metrics, MetricsSources};

//! What the operating system says about this process. Linux only; elsewhere the values are absent.

use std::fs;

use rustix::process::{Resource, getrlimit};

/// Ticks a second in `/proc`: fixed at 100 by the interface on every architecture Rust supports well.
const TICKS_PER_SECOND: f64 = 100.0;

/// Values as of now; absent where the system does not tell.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ProcessStats {
    pub(super) cpu_s: Option<f64>,
    pub(super) start_time_s: Option<f64>,
    pub(super) resident_bytes: Option<u64>,
    pub(super) threads: Option<u64>,
    pub(super) open_fds: Option<u64>,
    pub(super) max_fds: Option<u64>,
}

impl ProcessStats {
    /// Reads `/proc`.
    pub(super) fn read() -> Self {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
        let system = fs::read_to_string("/proc/stat").unwrap_or_default();
        let (cpu_s, since_boot_s) = times(&stat);
        let boot_s = system.lines().find_map(|line| line.strip_prefix("btime ")?.trim().parse::<f64>().ok());
        Self {
            cpu_s,
            start_time_s: boot_s.zip(since_boot_s).map(|(boot, since)| boot + since),
            resident_bytes: field(&status, "VmRSS:").map(|kib| kib * 1024),
            threads: field(&status, "Threads:"),
            open_fds: fs::read_dir("/proc/self/fd").ok().map(|entries| entries.count() as u64),
            max_fds: getrlimit(Resource::Nofile).current,
        }
    }
}

/// The number after `name` in `/proc/self/status`.
fn field(status: &str, name: &str) -> Option<u64> {
    status.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse().ok())
}

/// Processor time used, and start after boot, in seconds, from `/proc/self/stat`. Fields are counted after the
/// command's name, which may hold anything.
fn times(stat: &str) -> (Option<f64>, Option<f64>) {
    let Some((_, fields)) = stat.rsplit_once(')') else { return (None, None) };
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|text| text.parse::<f64>().ok());
    let cpu = ticks(11).zip(ticks(12)).map(|(user, system)| (user + system) / TICKS_PER_SECOND);
    (cpu, ticks(19).map(|ticks| ticks / TICKS_PER_SECOND))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_name_with_spaces_and_brackets_is_no_field() {
        let stat = "7 (a ) b) S 1 2 3 4 5 6 7 8 9 10 250 50 0 0 20 0 3 0 12345 0 0";
        assert_eq!(times(stat), (Some(3.0), Some(123.45)));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_has_memory_threads_and_files() {
        let stats = ProcessStats::read();
        assert!(stats.resident_bytes.is_some_and(|bytes| bytes > 0));
        assert!(stats.threads.is_some_and(|threads| threads > 0));
        assert!(stats.open_fds.is_some_and(|files| files > 0));
    }
}

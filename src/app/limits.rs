//! What the operating system lets this process have.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors besides those of connections: listeners, the admin listener's connections, logs, event loops, key files,
/// fetches.
const OTHER_FILES: u64 = 256;

/// Raises the soft limit of open files, up to the hard one, so that `connections_max` connections fit. The connections
/// that fit then: clients must not take the descriptors that health, metrics and key refreshes need. Warns if they are
/// fewer.
pub(super) fn connections(connections_max: usize) -> usize {
    let needed = connections_max as u64 + OTHER_FILES;
    let limit = getrlimit(Resource::Nofile);
    let Some(current) = limit.current else { return connections_max };
    if current >= needed {
        return connections_max;
    }
    let wanted = limit.maximum.map_or(needed, |maximum| maximum.min(needed));
    let raised = Rlimit { current: Some(wanted), maximum: limit.maximum };
    let now = if setrlimit(Resource::Nofile, raised).is_ok() { wanted } else { current };
    let fit = fit(connections_max, now);
    if fit < connections_max {
        tracing::warn!(
            open_files = now,
            needed,
            connections = fit,
            "the limit of open files is too low for http.connections_max, fewer connections are taken; raise it, or \
             lower the setting"
        );
    }
    fit
}

/// How many of `connections_max` connections fit below a limit on open files. A limit so low that the reserve would
/// take most of it is halved.
fn fit(connections_max: usize, open_files: u64) -> usize {
    let reserve = OTHER_FILES.min(open_files / 2);
    usize::try_from(open_files - reserve).map_or(connections_max, |room| room.clamp(1, connections_max))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_descriptors_for_everything_else() {
        let cases = [
            (10_000, 10_256, 10_000),
            (10_000, 10_255, 9_999),
            (10_000, 1024, 768),
            (10_000, 96, 48),
            (5, 1024, 5),
            (5, 1, 1),
        ];
        for (connections_max, open_files, want) in cases {
            assert_eq!(fit(connections_max, open_files), want, "{connections_max} below {open_files}");
        }
    }
}

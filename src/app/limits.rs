//! What the operating system lets this process have.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors besides those of connections: listeners, logs, event loops, key files, fetches.
const OTHER_FILES: u64 = 256;

/// Raises the soft limit of open files, up to the hard one, so that `connections_max` connections fit; warns if they do
/// not.
pub(super) fn raise_open_files(connections_max: usize) {
    let needed = connections_max as u64 + OTHER_FILES;
    let limit = getrlimit(Resource::Nofile);
    let Some(current) = limit.current else { return };
    if current >= needed {
        return;
    }
    let wanted = limit.maximum.map_or(needed, |maximum| maximum.min(needed));
    let raised = Rlimit { current: Some(wanted), maximum: limit.maximum };
    let now = if setrlimit(Resource::Nofile, raised).is_ok() { wanted } else { current };
    if now < needed {
        tracing::warn!(
            open_files = now,
            needed,
            "the limit of open files is below http.connections_max; raise it, or lower the setting"
        );
    }
}

//! Binding a thread to one core.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Binds the calling thread to the `index`-th core the process may use, counting round. Tells which core it is, or
/// `None` if the system refuses; the thread then runs wherever it is put, which is slower at worst.
pub(super) fn pin_current_thread(index: usize) -> Option<usize> {
    let allowed = sched_getaffinity(None).ok()?;
    let cores: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core)).collect();
    let core = *cores.get(index.checked_rem(cores.len())?)?;
    let mut only = CpuSet::new();
    only.set(core);
    sched_setaffinity(None, &only).ok()?;
    Some(core)
}

/// Binds the calling thread to the CPU the system knows by that number.
///
/// # Errors
/// If there is no such CPU, or the process may not use it.
pub(crate) fn pin_current_thread_to(cpu: usize) -> std::io::Result<()> {
    if cpu >= CpuSet::MAX_CPU || !sched_getaffinity(None)?.is_set(cpu) {
        return Err(std::io::Error::new(std::io::ErrorKind::NotFound, "it is not one of those this process may use"));
    }
    let mut only = CpuSet::new();
    only.set(cpu);
    Ok(sched_setaffinity(None, &only)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pinned_thread_may_use_one_core_only() {
        // On a thread of its own, so that the test runner's keeps its freedom.
        let pinned = std::thread::spawn(|| {
            let core = pin_current_thread(usize::MAX)?;
            let allowed = sched_getaffinity(None).ok()?;
            Some((core, allowed))
        });
        let (core, allowed) = pinned.join().expect("no panic").expect("a thread may narrow its own set");
        assert!(allowed.is_set(core));
        assert_eq!(allowed.count(), 1);
    }
}

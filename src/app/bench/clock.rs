//! How long a tick of the CPU's counter is.

/// Ticks of the time stamp counter in a nanosecond; `None` where there is no steady one.
#[cfg(target_arch = "x86_64")]
pub(super) fn ticks_per_ns() -> Option<f64> {
    use std::time::{Duration, Instant};

    use crate::kernel::x86_tsc;

    /// Long against the few dozen nanoseconds that reading the clocks takes: an error below one in a million.
    const SPAN: Duration = Duration::from_millis(40);
    /// The median of a few, in case the thread is put aside between two readings.
    const READINGS: usize = 3;

    if !x86_tsc::is_steady() {
        return None;
    }
    let mut rates = [0.0; READINGS];
    for rate in &mut rates {
        let (start, first) = (Instant::now(), x86_tsc::now());
        while start.elapsed() < SPAN {
            std::hint::spin_loop();
        }
        let (elapsed, last) = (start.elapsed(), x86_tsc::now());
        *rate = last.wrapping_sub(first) as f64 / elapsed.as_nanos() as f64;
    }
    rates.sort_by(f64::total_cmp);
    Some(rates[READINGS / 2])
}

/// Other architectures have no counter that programs may always read.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn ticks_per_ns() -> Option<f64> {
    None
}

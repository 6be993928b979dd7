//! When to fetch: pure arithmetic on durations. Randomness is an argument.

use std::time::Duration;

/// Bound on every configured time, far below where adding it to a clock overflows.
pub(super) const LONGEST: Duration = Duration::from_secs(10 * 366 * 24 * 3600);

/// Times of one remote source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// How long an answer without `max-age` is fresh. Default 5 min.
    pub default_lifetime: Duration,
    /// An answer is fresh for at least this long, whatever `Cache-Control` says. Default 1 min.
    pub floor: Duration,
    /// And for at most this long: bounds how long a key works that the issuer has removed. Default 1 h.
    pub ceiling: Duration,
    /// How long keys are used without a word from the issuer. Default 12 h.
    pub hard_age: Duration,
    /// Wait after the first failure; doubles with each. Default 200 ms.
    pub retry_min: Duration,
    /// Longest wait between retries before the first success. Default 10 s.
    pub first_retry_max: Duration,
    /// Longest wait between retries while a good set serves. Default 1 min.
    pub retry_max: Duration,
}

impl Default for Schedule {
    fn default() -> Self {
        Self {
            default_lifetime: Duration::from_secs(300),
            floor: Duration::from_secs(60),
            ceiling: Duration::from_secs(3600),
            hard_age: Duration::from_secs(12 * 3600),
            retry_min: Duration::from_millis(200),
            first_retry_max: Duration::from_secs(10),
            retry_max: Duration::from_secs(60),
        }
    }
}

/// Whether there is a set to serve while the issuer fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// No good answer yet: tokens are waiting.
    First,
    /// A good set serves.
    Serving,
}

impl Schedule {
    /// What does not go together, if anything.
    pub(super) fn check(&self) -> Result<(), &'static str> {
        if self.floor.is_zero() || self.retry_min.is_zero() {
            return Err("the shortest refresh and retry times must be longer than zero");
        }
        if self.floor > self.ceiling {
            return Err("the shortest refresh time is longer than the longest");
        }
        if self.ceiling > self.hard_age {
            return Err("keys would reach their hard age before their refresh");
        }
        if [self.hard_age, self.retry_min, self.retry_max, self.first_retry_max].iter().any(|&time| time > LONGEST) {
            return Err("a time of more than ten years");
        }
        Ok(())
    }

    /// How long an answer is fresh (RFC 9111 section 4.2), between floor and ceiling. `Expires` is not looked at.
    pub(super) fn lifetime(&self, cache_control: Option<&str>, age: Option<u64>) -> Duration {
        let mut lifetime = None;
        for directive in cache_control.unwrap_or_default().split(',') {
            let (name, value) = directive.split_once('=').unwrap_or((directive, ""));
            let name = name.trim();
            if name.eq_ignore_ascii_case("no-store") || name.eq_ignore_ascii_case("no-cache") {
                lifetime = Some(Duration::ZERO);
                break;
            }
            if name.eq_ignore_ascii_case("max-age") && lifetime.is_none() {
                // An unreadable number means stale (RFC 9111 section 4.2.1).
                let seconds = value.trim().trim_matches('"').parse::<u64>().unwrap_or(0);
                lifetime = Some(Duration::from_secs(seconds.saturating_sub(age.unwrap_or(0))));
            }
        }
        lifetime.unwrap_or(self.default_lifetime).clamp(self.floor, self.ceiling)
    }

    /// When to refresh: at 75 % to 90 % of the lifetime, so that fleets do not march in step. `jitter` is 0 to 1.
    pub(super) fn refresh_after(&self, lifetime: Duration, jitter: f64) -> Duration {
        lifetime.mul_f64(0.75 + 0.15 * jitter.clamp(0.0, 1.0))
    }

    /// When to try again after `failures` (from 1) in a row: doubling, bounded, at 50 % to 100 %. A wish of the issuer
    /// (`Retry-After`) is kept up to the ceiling.
    pub(super) fn retry_after(&self, phase: Phase, failures: u32, asked: Option<Duration>, jitter: f64) -> Duration {
        let longest = match phase {
            Phase::First => self.first_retry_max,
            Phase::Serving => self.retry_max,
        };
        let doubled = self.retry_min.saturating_mul(1_u32 << failures.saturating_sub(1).min(20));
        let wait = doubled.min(longest).max(self.retry_min).mul_f64(0.5 + 0.5 * jitter.clamp(0.0, 1.0));
        wait.max(asked.unwrap_or(Duration::ZERO).min(self.ceiling))
    }
}

/// A random number from 0 to 1. Nothing secret depends on it.
pub(super) fn jitter() -> f64 {
    use std::hash::BuildHasher;
    // Every `RandomState` has another key, so the hash of anything under a new one is random.
    let bits = u32::try_from(std::hash::RandomState::new().hash_one(0_u8) >> 32).unwrap_or(0);
    f64::from(bits) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: fn(u64) -> Duration = Duration::from_secs;

    #[test]
    fn lifetime_follows_cache_control_between_floor_and_ceiling() {
        let schedule = Schedule::default();
        for (cache_control, age, expected) in [
            (None, None, 300),
            (Some(""), None, 300),
            (Some("public"), None, 300),
            (Some("max-age=600"), None, 600),
            (Some("public, Max-Age=600, must-revalidate"), None, 600),
            (Some("max-age=\"600\""), None, 600),
            (Some("max-age=600"), Some(200), 400),
            (Some("max-age=600"), Some(6000), 60),
            (Some("max-age=5"), None, 60),
            (Some("max-age=0"), None, 60),
            (Some("no-store"), None, 60),
            (Some("max-age=600, no-cache"), None, 60),
            (Some("max-age=31536000"), None, 3600),
            (Some("max-age=99999999999999999999999"), None, 60),
            (Some("max-age=-1"), None, 60),
            (Some("max-age"), None, 60),
            (Some("s-maxage=600"), None, 300),
        ] {
            assert_eq!(schedule.lifetime(cache_control, age), S(expected), "{cache_control:?} age {age:?}");
        }
    }

    #[test]
    fn refresh_is_ahead_of_expiry_whatever_the_jitter() {
        let schedule = Schedule::default();
        for jitter in [-1.0, 0.0, 0.3, 1.0, 7.0, f64::NAN] {
            let jitter = if jitter.is_nan() { super::jitter() } else { jitter };
            let wait = schedule.refresh_after(S(1000), jitter);
            assert!(wait >= S(750) && wait <= S(900), "{jitter} gives {wait:?}");
        }
    }

    #[test]
    fn retries_double_are_bounded_and_keep_the_issuers_wish() {
        let schedule = Schedule::default();
        let millis = |phase, failures, asked, jitter| schedule.retry_after(phase, failures, asked, jitter).as_millis();
        assert_eq!(millis(Phase::First, 1, None, 1.0), 200);
        assert_eq!(millis(Phase::First, 1, None, 0.0), 100);
        assert_eq!(millis(Phase::First, 3, None, 1.0), 800);
        assert_eq!(millis(Phase::First, 30, None, 1.0), 10_000);
        assert_eq!(millis(Phase::Serving, u32::MAX, None, 1.0), 60_000);
        assert_eq!(millis(Phase::First, 1, Some(S(30)), 1.0), 30_000);
        assert_eq!(millis(Phase::First, 1, Some(S(86_400)), 1.0), 3_600_000);
    }

    #[test]
    fn times_that_cannot_work_are_refused() {
        let good = Schedule::default();
        assert_eq!(good.check(), Ok(()));
        for bad in [
            Schedule { floor: Duration::ZERO, ..good },
            Schedule { retry_min: Duration::ZERO, ..good },
            Schedule { floor: S(7200), ..good },
            Schedule { hard_age: S(60), ..good },
            Schedule { hard_age: Duration::MAX, ..good },
            Schedule { ceiling: Duration::MAX, hard_age: Duration::MAX, ..good },
            Schedule { retry_min: Duration::MAX, ..good },
        ] {
            assert!(bad.check().is_err(), "{bad:?}");
        }
    }
}

//! Measuring side by side: contestants take turns of a few milliseconds on one thread until each has had its time, so
//! that whatever else happens on the machine, and how fast its clock runs, falls on all of them alike. Time is what this
//! thread has spent on a CPU: what other programs take is not counted.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// A turn: long against reading the clock, short against anything that drifts.
const TURN: Duration = Duration::from_millis(2);
/// At least so many turns for each, however slow.
const TURNS_MIN: usize = 3;

/// A verdict came out wrong: whatever was measured does not count.
#[derive(Debug)]
pub(super) struct WrongVerdict;

/// One call: how many signatures it checked.
pub(super) type Call<'a> = Box<dyn FnMut() -> Result<usize, WrongVerdict> + 'a>;

/// One of those measured.
pub(super) struct Contestant<'a> {
    call: Call<'a>,
    spent: Duration,
    /// Nanoseconds a signature, one value a turn.
    turns: Vec<f64>,
}

/// What came out for one contestant: nanoseconds a signature.
#[derive(Clone, Copy, Debug)]
pub(super) struct Figures {
    pub(super) median: f64,
    /// A quarter of the turns were faster than this.
    pub(super) lower_quartile: f64,
    /// A quarter of the turns were slower than this.
    pub(super) upper_quartile: f64,
    pub(super) turns: usize,
}

/// CPU time of this thread so far.
fn spent() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.cast_unsigned(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

impl<'a> Contestant<'a> {
    pub(super) fn new(call: Call<'a>) -> Self {
        Self { call, spent: Duration::ZERO, turns: Vec::new() }
    }

    /// Half a turn to warm up, which also tells how many calls make a turn; then a turn without a look at the clock.
    fn turn(&mut self, length: Duration) -> Result<(), WrongVerdict> {
        let start = spent();
        let mut calls = 0_u32;
        let warm = loop {
            (self.call)()?;
            calls += 1;
            let elapsed = spent() - start;
            if elapsed >= length / 2 {
                break elapsed;
            }
        };
        let calls = (f64::from(calls) * length.as_secs_f64() / warm.as_secs_f64()).max(1.0) as u64;
        let mut signatures = 0;
        let start = spent();
        for _ in 0..calls {
            signatures += (self.call)()?;
        }
        let elapsed = spent() - start;
        self.turns.push(elapsed.as_nanos() as f64 / signatures as f64);
        self.spent += warm + elapsed;
        Ok(())
    }

    fn figures(&self) -> Figures {
        let mut turns = self.turns.clone();
        turns.sort_by(f64::total_cmp);
        let at = |quarter: usize| turns[(turns.len() - 1) * quarter / 4];
        Figures { median: at(2), lower_quartile: at(1), upper_quartile: at(3), turns: turns.len() }
    }
}

/// Lets everyone take turns until each has had `time`; the figures in the order of the contestants. Next is always
/// whoever has had the least time, so slow calls are spread over the whole contest.
pub(super) fn hold(contestants: &mut [Contestant<'_>], time: Duration) -> Result<Vec<Figures>, WrongVerdict> {
    let turn = TURN.min(time / 3).max(Duration::from_micros(50));
    while let Some(next) = contestants
        .iter_mut()
        .filter(|contestant| contestant.spent < time || contestant.turns.len() < TURNS_MIN)
        .min_by_key(|contestant| contestant.spent)
    {
        next.turn(turn)?;
    }
    Ok(contestants.iter().map(Contestant::figures).collect())
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn contestants_take_turns_until_each_has_had_its_time() {
        let order = RefCell::new(Vec::new());
        let contestant = |name: char| {
            let order = &order;
            Contestant::new(Box::new(move || {
                if order.borrow().last() != Some(&name) {
                    order.borrow_mut().push(name);
                }
                let start = spent();
                while spent() - start < Duration::from_micros(300) {}
                Ok(2)
            }))
        };
        let mut contestants = [contestant('a'), contestant('b')];
        let figures = hold(&mut contestants, Duration::from_millis(12)).unwrap();
        for figures in figures {
            assert!(figures.turns >= TURNS_MIN, "{figures:?}");
            // Two signatures a call of at least 300 microseconds.
            assert!(figures.lower_quartile >= 150_000.0, "{figures:?}");
            assert!(figures.lower_quartile <= figures.median && figures.median <= figures.upper_quartile);
        }
        let switches = order.borrow().len();
        assert!(switches >= 2 * TURNS_MIN - 1, "{switches} switches only");
    }

    #[test]
    fn a_wrong_verdict_ends_the_contest() {
        let mut calls = 0;
        let mut contestants = [Contestant::new(Box::new(move || {
            calls += 1;
            if calls < 10 { Ok(1) } else { Err(WrongVerdict) }
        }))];
        assert!(hold(&mut contestants, Duration::from_secs(3600)).is_err());
    }
}

//! Whether a connection is at work: counted on its shard's thread, without a timer that a request would touch.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use tokio::time::Instant;

/// What one connection is doing.
#[derive(Debug)]
pub(super) struct Activity {
    /// Requests whose answer has not been handed over to its last byte.
    in_work: Cell<usize>,
    /// When there was last a request in work; the time of accepting before the first.
    last: Cell<Instant>,
}

impl Activity {
    pub(super) fn new() -> Rc<Self> {
        Rc::new(Self { in_work: Cell::new(0), last: Cell::new(Instant::now()) })
    }

    /// A request begins.
    pub(super) fn begin(self: &Rc<Self>) -> InWork {
        self.in_work.set(self.in_work.get() + 1);
        InWork(Rc::clone(self))
    }

    /// When the connection will have been idle for `timeout`. Counted from now while it is at work: it is to be asked
    /// again then.
    pub(super) fn idle_at(&self, timeout: Duration) -> Instant {
        let now = Instant::now();
        let since = if self.in_work.get() > 0 { now } else { self.last.get() };
        // A time beyond the clock's range never comes; a day is as good.
        since.checked_add(timeout).unwrap_or(now + Duration::from_secs(24 * 3600))
    }
}

/// One request in work, however it ends.
#[derive(Debug)]
pub(super) struct InWork(Rc<Activity>);

impl Drop for InWork {
    fn drop(&mut self) {
        self.0.in_work.set(self.0.in_work.get() - 1);
        self.0.last.set(Instant::now());
    }
}

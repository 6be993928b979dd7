//! The signal to finish up: one switch, any number of listeners on any thread.

use tokio::sync::watch;

/// Throws the drain signal. Dropping the switch throws it too: a listener never waits for a switch that is gone.
#[derive(Debug)]
pub struct DrainSwitch(watch::Sender<bool>);

/// Learns of the drain. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Drain(watch::Receiver<bool>);

impl Drain {
    /// A switch and what listens to it.
    #[must_use]
    pub fn channel() -> (DrainSwitch, Self) {
        let (sender, receiver) = watch::channel(false);
        (DrainSwitch(sender), Self(receiver))
    }

    /// A drain that listens to a signal somebody else owns: `true` means drain.
    #[must_use]
    pub const fn from_watch(receiver: watch::Receiver<bool>) -> Self {
        Self(receiver)
    }

    /// The same signal, heard through a relay of this thread's own: listeners of one shard then share nothing with
    /// those of another, however often they are asked. Must be called inside the thread's event loop.
    #[must_use]
    pub fn on_this_thread(self) -> Self {
        let (switch, drain) = Self::channel();
        tokio::task::spawn_local(async move {
            self.started().await;
            switch.start();
        });
        drain
    }

    /// Whether draining has begun.
    #[must_use]
    pub fn has_started(&self) -> bool {
        *self.0.borrow() || self.0.has_changed().is_err()
    }

    /// Completes when draining begins.
    pub async fn started(mut self) {
        // An error means that the switch is gone, which is a drain as well.
        let _ = self.0.wait_for(|draining| *draining).await;
    }
}

impl DrainSwitch {
    /// Begins draining. There is no way back.
    pub fn start(&self) {
        self.0.send_replace(true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_switch_counts_as_a_drain() {
        let (switch, drain) = Drain::channel();
        assert!(!drain.has_started());
        drop(switch);
        assert!(drain.has_started());
    }

    #[tokio::test]
    async fn a_relay_passes_the_signal_on_and_not_before() {
        let local = tokio::task::LocalSet::new();
        let relayed = async {
            let (switch, drain) = Drain::channel();
            let relay = drain.on_this_thread();
            tokio::task::yield_now().await;
            assert!(!relay.has_started());
            switch.start();
            relay.clone().started().await;
            assert!(relay.has_started());
        };
        local.run_until(relayed).await;
    }
}

//! The background thread: everything that is not a connection of the data listener. Admin listener, key refresh, the
//! watch on key files and the acceptors share one event loop here, away from the shards.

use std::future::Future;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::JoinHandle;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

/// A thread with an event loop for tasks that may take their time. Stops when dropped: tasks end where they wait.
#[derive(Debug)]
pub struct Background {
    handle: Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Background {
    /// Starts the thread.
    ///
    /// # Errors
    /// If the thread or its event loop cannot be made.
    pub fn start() -> io::Result<Self> {
        let runtime = Builder::new_current_thread().thread_name("blocking").enable_all().build()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::Builder::new().name("background".to_owned()).spawn(move || {
            // Either the signal to stop or the loss of its sender ends the loop.
            let run = catch_unwind(AssertUnwindSafe(|| {
                let _ = runtime.block_on(stopped);
                // Tasks on blocking threads (name resolution, file reads) are not waited for.
                runtime.shutdown_background();
            }));
            if run.is_err() {
                super::abort(format_args!("the background thread panicked"));
            }
        })?;
        Ok(Self { handle, stop: Some(stop), thread: Some(thread) })
    }

    /// To spawn tasks with, from any thread.
    #[must_use]
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Runs `future` on the calling thread with the background's I/O and timers. Not from inside an event loop.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.handle.block_on(future)
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the background thread ended badly");
        }
    }
}

//! An event loop for one thread that does exactly what it is told: tasks run in the order in which they were woken.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

#[derive(Default)]
struct Ready {
    queue: Mutex<VecDeque<usize>>,
    woken: Condvar,
}

struct TaskWaker {
    ready: Arc<Ready>,
    task: usize,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        let mut queue = self.ready.queue.lock().unwrap();
        if !queue.contains(&self.task) {
            queue.push_back(self.task);
            self.ready.woken.notify_all();
        }
    }
}

/// The tasks and their order.
#[derive(Default)]
pub struct LocalLoop {
    tasks: Vec<Option<Pin<Box<dyn Future<Output = ()>>>>>,
    ready: Arc<Ready>,
}

impl LocalLoop {
    /// Adds a task behind those that are ready.
    pub fn spawn(&mut self, task: impl Future<Output = ()> + 'static) -> usize {
        let id = self.tasks.len();
        self.tasks.push(Some(Box::pin(task)));
        self.waker(id).wake();
        id
    }

    /// Drops a task where it stands.
    pub fn cancel(&mut self, task: usize) {
        self.tasks[task] = None;
    }

    /// Whether the task has ended.
    pub fn ended(&self, task: usize) -> bool {
        self.tasks[task].is_none()
    }

    fn waker(&self, task: usize) -> Waker {
        Waker::from(Arc::new(TaskWaker { ready: Arc::clone(&self.ready), task }))
    }

    /// Polls the next ready task. `false`: none is ready.
    pub fn step(&mut self) -> bool {
        let next = self.ready.queue.lock().unwrap().pop_front();
        let Some(id) = next else { return false };
        let waker = self.waker(id);
        if let Some(task) = &mut self.tasks[id]
            && task.as_mut().poll(&mut Context::from_waker(&waker)) == Poll::Ready(())
        {
            self.tasks[id] = None;
        }
        true
    }

    /// Runs until nothing is ready.
    pub fn run_until_idle(&mut self) {
        while self.step() {}
    }

    /// Sleeps until some task is woken, by another thread that is. `false`: nobody did within `patience`.
    pub fn sleep(&self, patience: Duration) -> bool {
        let queue = self.ready.queue.lock().unwrap();
        let (queue, _) = self.ready.woken.wait_timeout_while(queue, patience, |queue| queue.is_empty()).unwrap();
        !queue.is_empty()
    }
}

//! What this CPU and operating system offer. The only place that asks, and the only maker of proofs.

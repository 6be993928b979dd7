//! Contract; its author fills it.

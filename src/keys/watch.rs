//! Reloads local sources when their files change.

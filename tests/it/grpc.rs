//! Its author fills it.

//! Where key sets come from. Contract; the author of `keys` fills it.

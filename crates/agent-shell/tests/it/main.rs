//! Commands on the real system.

#![expect(clippy::unwrap_used, reason = "a helper of tests fails as a test does")]

mod changes;
mod ends;
mod sandbox;
mod specs;
mod support;
mod terminal;

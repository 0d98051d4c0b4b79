//! The parts that need no server, against data and folders.

#![expect(clippy::unwrap_used, reason = "a helper of tests fails as a test does")]

mod diagnostics;
mod position;
mod symbol;
mod uri;

//! Changes of files against a real file system, and what happens when it fails.

#![expect(clippy::unwrap_used, reason = "a helper of tests fails as a test does")]

mod apply;
mod faults;
mod fixture;
mod kill;
mod plan;
mod recover;
mod stale;
mod text_edits;

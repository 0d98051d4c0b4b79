//! The parts that need no server, against data and folders.

#![expect(clippy::unwrap_used, reason = "a helper of tests fails as a test does")]

mod checks;
mod diagnostics;
mod edits;
mod ledger;
mod position;
mod rename;
mod reports;
mod roots;
mod support;
mod symbol;
mod table;
mod uri;

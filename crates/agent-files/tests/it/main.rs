//! The file tools over real folders.

#![expect(clippy::unwrap_used, reason = "a helper of tests fails as a test does")]

mod artifacts;
mod cancel;
mod cases;
mod checkout;
mod containment;
mod git;
mod hostile;
mod preview;
mod progress;
mod properties;
mod specs;

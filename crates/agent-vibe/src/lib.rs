#![doc = include_str!("../README.md")]

mod attempt;
mod drive;
mod error;
mod job;
mod leash;
mod order;
mod record;
mod report;
mod roster;
mod scope;
mod tools;
mod workers;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use crate::{
    job::{Job, UnknownTier, WorkError, WorkerFactory, WorkerTier},
    order::{BRIEF_BYTES, LABEL_CHARS, MESSAGES_BYTES, Order},
    report::{PREVIEW_CHARS, RESULT_CHARS, Status, WorkerReport},
    roster::{Ended, RosterLimits},
    scope::WorkerScope,
    tools::TOOLS,
    workers::{KILL_WITHIN, Workers},
};

/// Nothing panics while it holds one of our locks; a poisoned one still holds what is true.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

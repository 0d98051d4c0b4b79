#![doc = include_str!("../README.md")]

mod approval;
mod budget;
mod calls;
mod guardrail;
mod log;
mod panics;
mod record;
mod registry;
mod result;
mod rules;
mod run;
mod surface;
mod transcript;
mod turns;
mod view;
mod watch;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use crate::{
    approval::{Approval, ApproveMode},
    budget::{Artifacts, RESULT_CHARS},
    calls::{LiveCall, WaitsFor},
    guardrail::guardrail,
    record::{
        Decider, Failure, Outcome, PartNote, Record, TRANSCRIPT_TEXT_CHARS, TRANSCRIPT_VERSION,
        What,
    },
    registry::{Registry, RegistryBuilder, RegistryError, RegistryErrorKind},
    result::{ChangeLine, ErrorLine, ResultLine},
    rules::{Policy, Rule, Rules},
    run::{Run, RunBuilder},
    surface::{Surface, UnknownSurface},
    view::View,
    watch::{WATCH_LIMIT, Watched, Watcher},
};

/// A panic while a lock is held leaves nothing half done here, so the lock is taken all the same.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#![doc = include_str!("../README.md")]

mod approval;
mod budget;
mod call;
mod calls;
mod guardrail;
mod hiding;
mod json;
mod log;
mod memory;
mod record;
mod registry;
mod result;
mod rules;
mod run;
#[cfg(test)]
mod spans;
mod surface;
mod transcript;
mod turns;
mod unknown;
mod view;
mod waits;
mod watch;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use crate::{
    approval::{Approval, ApproveMode},
    budget::{Artifacts, RESULT_CHARS},
    calls::{LiveCall, WaitsFor},
    guardrail::guardrail,
    record::{
        Decider, Failure, Outcome, PartNote, RECORD_ARGS_CHARS, Record, TRANSCRIPT_TEXT_CHARS,
        TRANSCRIPT_VERSION, What,
    },
    registry::{Registry, RegistryBuilder, RegistryError, RegistryErrorKind},
    result::{ChangeLine, ErrorLine, ResultLine},
    rules::{ArgumentIn, Policy, Rule, Rules},
    run::{Run, RunBuilder},
    surface::{Surface, UnknownSurface},
    transcript::{TRANSCRIPT_BACKLOG, TranscriptError},
    view::View,
    watch::{WATCH_BYTES, WATCH_LIMIT, WATCH_RECORDS, Watched, Watcher},
};

/// Nothing panics while it holds one of our locks; a poisoned one still holds what is true.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

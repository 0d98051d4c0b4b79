//! The mark in the environment by which a process is known as one of ours, wherever it moved to.

use std::{
    env,
    ffi::OsString,
    hash::{BuildHasher, Hasher, RandomState},
};

/// The variable that every started process carries. Its value names the runs and processes that it descends from, separated
/// by slashes, so that a program that starts programs itself hides nothing from the one above it.
pub const MARK_VARIABLE: &str = "AGENT_PROCESS_MARK";

/// One segment of the variable: `run.number`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mark(String);

/// A name that no other run has.
pub(crate) fn new_run() -> String {
    format!("{:016x}", RandomState::new().build_hasher().finish())
}

impl Mark {
    pub(crate) fn new(run: &str, number: u64) -> Self {
        Self(format!("{run}.{number}"))
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        text.contains('.').then(|| Self(text.to_owned()))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The variable's value for a child of this process.
    pub(crate) fn value(&self) -> OsString {
        let mut value = env::var_os(MARK_VARIABLE).unwrap_or_default();
        if !value.is_empty() {
            value.push("/");
        }
        value.push(&self.0);
        value
    }

    /// Whether the variable's value names this mark.
    pub(crate) fn is_in(&self, value: &[u8]) -> bool {
        segments(value).any(|segment| segment == self.0.as_bytes())
    }
}

/// Whether the variable's value names anything that this run started.
pub(crate) fn is_of_run(value: &[u8], run: &str) -> bool {
    segments(value).any(|segment| {
        segment.strip_prefix(run.as_bytes()).is_some_and(|rest| rest.starts_with(b"."))
    })
}

fn segments(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b'/')
}

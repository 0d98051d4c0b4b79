//! The check of a compiler: when one is started, and which one it is that begins.
//!
//! A check that is started cuts a running one short, a server that is told of two may run one for both, and no progress names
//! what started it. So none is started before the last has begun: what begins after it was started is that one.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use agent_workspace::WorkspacePath;

use super::{client::Client, readiness::Readiness, told::State};
use crate::table::{Check, Starts, Wait};

/// No check was started.
const NEVER: u64 = u64::MAX;

/// How long the project may take to be read before it is checked for the first time.
const FIRST_WITHIN: Duration = Duration::from_secs(300);

/// The checks that were started.
#[derive(Debug)]
pub(super) struct Started {
    last: Mutex<Last>,
    /// What the server had told before the last one, and before the last that was started though the one before had not
    /// begun. They are looked at while what was told is locked, so they have no lock.
    mark: AtomicU64,
    doubted: AtomicU64,
}

/// The last one.
#[derive(Debug, Default)]
struct Last {
    /// The count of what was sent.
    count: u64,
    at: Option<Instant>,
}

/// Why one is started.
#[derive(Clone, Copy, Debug)]
pub(super) enum Start {
    /// What there is has changed since the last one was started.
    Changed,
    /// None was started since the server had told so much.
    NoneSince(u64),
}

impl Default for Started {
    fn default() -> Self {
        Self { last: Mutex::default(), mark: AtomicU64::new(NEVER), doubted: AtomicU64::new(NEVER) }
    }
}

impl Client {
    /// Starts a check, where there is a reason; waits while the last one has yet to begin.
    ///
    /// # Errors
    /// Why none was started.
    pub(super) async fn start_check(
        &self,
        check: &Check,
        file: Option<&WorkspacePath>,
        why: Start,
        deadline: Instant,
    ) -> Result<(), String> {
        while let Some(lost) = self.started_or_unheard(check, file, why) {
            let heard = |state: &State| (!self.is_unheard(check, state)).then_some(());
            let heard = self.told.until(lost.min(deadline), heard).await;
            if heard.is_none() && (Instant::now() >= deadline || self.told.is_over()) {
                return Err("the check that was started before has not begun".to_owned());
            }
        }
        Ok(())
    }

    /// Starts the first check once the project is read, so that what is broken is known before something is written. Where a
    /// save starts them, that is left to the server.
    pub(crate) async fn check_first(self: Arc<Self>) {
        let Wait::CompilerOnSave(check) = self.wait() else { return };
        let deadline = Instant::now() + FIRST_WITHIN;
        if check.starts == Starts::RunFlycheck && self.ready(deadline).await == Readiness::Ready {
            // Whoever needs one starts it again.
            let _ = self.start_check(check, None, Start::Changed, deadline).await;
        }
    }

    /// What the server had told before the last check was started: what began later is that one.
    pub(super) fn check_started(&self) -> u64 {
        self.started.mark.load(Ordering::Relaxed)
    }

    /// Whether a check that began then may be one that was given up: the one before it was started though another had not
    /// begun.
    pub(super) fn is_doubted(&self, began: u64) -> bool {
        let doubted = self.started.doubted.load(Ordering::Relaxed);
        let last = self.check_started();
        let is_later = last != doubted && began > last;
        doubted != NEVER && began > doubted && !is_later
    }

    /// Starts a check where there is a reason. Where the last one has yet to begin, gives the time when it counts as lost.
    fn started_or_unheard(
        &self,
        check: &Check,
        file: Option<&WorkspacePath>,
        why: Start,
    ) -> Option<Instant> {
        let mut documents = self.documents();
        let mut last = self.started.last.lock().unwrap_or_else(PoisonError::into_inner);
        let is_saved = |file| check.starts != Starts::Save || documents.is_saved(file);
        let is_needed = match why {
            Start::Changed => last.count <= self.last_sent().changed || !file.is_none_or(is_saved),
            Start::NoneSince(told) => self.check_started() < told,
        };
        if !is_needed {
            return None;
        }
        let (is_unheard, mark) = {
            let told = self.told.look();
            (self.is_unheard(check, &told), told.sequence())
        };
        let lost = last.at.map(|at| at + Duration::from_millis(check.begin_ms));
        if let Some(lost) = lost.filter(|lost| is_unheard && Instant::now() < *lost) {
            return Some(lost);
        }
        match (check.starts, file) {
            (Starts::RunFlycheck, _) => documents.check(),
            (Starts::Save, Some(file)) => documents.save(file),
            (Starts::Save, None) => {}
        }
        let notes = documents.take_notes();
        if !notes.is_empty() {
            self.started.mark.store(mark, Ordering::Relaxed);
            if is_unheard {
                self.started.doubted.store(mark, Ordering::Relaxed);
            }
            self.send(notes);
            *last = Last { count: self.last_sent().count, at: Some(Instant::now()) };
        }
        None
    }

    /// Whether a check was started and has yet to begin.
    fn is_unheard(&self, check: &Check, state: &State) -> bool {
        let started = self.check_started();
        let began = |began: u64| began > started;
        started != NEVER
            && !state.checking(check).any(|running| began(running.began))
            && !state.checks(check).any(|end| began(end.began))
    }
}

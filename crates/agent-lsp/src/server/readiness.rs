//! Whether a server knows the project by now.

use std::{
    sync::PoisonError,
    time::{Duration, Instant},
};

use super::{
    client::Client,
    settle::words,
    told::{MESSAGE_CHARS, State},
};
use crate::table::{Ready, Wait};

/// How often a server that is at work is looked at without a word from it.
const LOOK: Duration = Duration::from_millis(100);

/// How long a server may take to say that it has begun to index, once a file is open.
const GRACE: Duration = Duration::from_millis(200);

/// How long a server may take to log that it knows its files; one that says nothing by then does not say it.
const LOGS_WITHIN: Duration = Duration::from_secs(30);

/// How long it may take to show that it could not read the project, once it has logged that.
const SHOWS_WITHIN: Duration = Duration::from_secs(10);

/// Whether a server knows the project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Readiness {
    /// It does, as far as it tells.
    Ready,
    /// It is at work: what, in its words.
    Busy(String),
    /// It says that it cannot: why.
    Unhealthy(String),
}

impl Client {
    /// Whether it knows the project by now, as far as it tells.
    pub(crate) fn readiness(&self) -> Readiness {
        self.readiness_in(&self.told.look())
    }

    /// Waits until it does, or until `deadline`.
    pub(crate) async fn ready(&self, deadline: Instant) -> Readiness {
        if self.start.row.ready == Ready::Tsserver {
            self.load_projects(deadline).await;
        }
        self.reads_by_itself(deadline).await;
        loop {
            let ready = |state: &State| match self.readiness_in(state) {
                Readiness::Busy(_) => None,
                readiness => Some(readiness),
            };
            // Without a word from the server, its grace is over by itself.
            let again = (Instant::now() + LOOK).min(deadline);
            if let Some(readiness) = self.told.until(again, ready).await {
                return readiness;
            }
            if Instant::now() >= deadline || self.told.is_over() {
                return self.readiness();
            }
        }
    }

    fn readiness_in(&self, state: &State) -> Readiness {
        if let Some(stuck) = self.stuck() {
            return Readiness::Unhealthy(words(&stuck));
        }
        if let Some(status) = state.status() {
            if status.health == "error" {
                let clip = |why: &String| why.chars().take(MESSAGE_CHARS).collect();
                let why: Option<String> = status.message.as_ref().map(clip);
                return Readiness::Unhealthy(
                    why.unwrap_or_else(|| "it gives no reason".to_owned()),
                );
            }
            if !status.quiescent {
                return Readiness::Busy(
                    self.working(state).unwrap_or_else(|| "loading the project".to_owned()),
                );
            }
        } else if self.start.row.ready == Ready::ServerStatus {
            return Readiness::Busy(self.working(state).unwrap_or_else(|| "starting".to_owned()));
        }
        if self.is_reading_configuration(state) {
            return Readiness::Busy("it reads its configuration anew".to_owned());
        }
        if self.start.row.ready == Ready::AtOnce {
            return Readiness::Ready;
        }
        if let Some(work) = self.working(state) {
            return Readiness::Busy(work);
        }
        if let Some(why) = self.unloaded_in(state) {
            return Readiness::Busy(why);
        }
        let logs = self.start.row.logs_when_ready.is_some();
        if logs && !state.knows_files && self.initialized.elapsed() < LOGS_WITHIN {
            return Readiness::Busy("looking for the project's files".to_owned());
        }
        let opened = *self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let began = state.ended().next().is_some();
        match opened {
            Some(opened) if !began && opened.elapsed() < self.grace() => {
                Readiness::Busy("it may not have begun to index".to_owned())
            }
            _ => Readiness::Ready,
        }
    }

    /// Why it could not read the project, where it says so.
    pub(super) fn unloaded(&self) -> Option<String> {
        self.unloaded_in(&self.told.look())
    }

    fn unloaded_in(&self, state: &State) -> Option<String> {
        let shows = &self.start.row.unloaded.as_ref()?.shows;
        if state.progress().values().any(|running| running.title == *shows) {
            return self.working(state);
        }
        let logged = state.unloaded.is_some_and(|logged| logged.elapsed() < SHOWS_WITHIN);
        logged.then(|| "it could not read the project".to_owned())
    }

    /// The work that the server is at, in its words; a check after a save is none that matters here.
    fn working(&self, state: &State) -> Option<String> {
        let check = match &self.start.row.wait {
            Wait::CompilerOnSave(check) => Some(check.progress.as_str()),
            _ => None,
        };
        let is_check = |token: &str| check.is_some_and(|check| token.starts_with(check));
        let (_, progress) = state.progress().iter().find(|(token, _)| !is_check(token))?;
        let mut text = progress.title.clone();
        if let Some(message) = &progress.message {
            text = format!("{text}: {message}");
        }
        match progress.percentage {
            Some(percentage) => Some(format!("{text} ({percentage} %)")),
            None => Some(text),
        }
    }

    fn grace(&self) -> Duration {
        match self.start.row.ready {
            Ready::AtOnce => Duration::ZERO,
            _ => GRACE,
        }
    }

    /// Waits until it has had its time to read what it was told of.
    pub(super) async fn reads_by_itself(&self, deadline: Instant) {
        let told = *self.told_to_read.lock().unwrap_or_else(PoisonError::into_inner);
        let time = Duration::from_millis(self.start.row.rereads_ms);
        if let Some(until) = told.map(|told| told + time).filter(|until| *until > Instant::now()) {
            tokio::time::sleep_until(until.min(deadline).into()).await;
        }
    }
}

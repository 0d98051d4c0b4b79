//! Whether a server that let a call run out of time is still there.
//!
//! One that works with a single thread and is stuck in a call reads nothing more, and every later call would cost its whole time.
//! So it is asked something that costs nothing before the next call goes to it, and whatever it answers shows that it lives.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use rmcp::{
    model::{
        ClientRequest, DiscoverRequest, DiscoverRequestParams, PingRequest, PingRequestMethod,
    },
    service::PeerRequestOptions,
};
use tokio::{
    sync::Mutex,
    time::{Instant, sleep_until},
};

use super::{Connection, pending::Pending};
use crate::era::Era;

/// What is known of a connection before a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It can be spoken to.
    Open,
    /// It ended.
    Ended,
    /// It lives and answers nothing any more.
    Hung,
}

/// The doubt in one connection.
#[derive(Default)]
pub(super) struct Doubt {
    raised: AtomicBool,
    question: Mutex<Option<Question>>,
}

/// What it was asked to clear it. It outlives the call that asked: one with little time finds out as well.
struct Question {
    pending: Pending,
    since: Instant,
}

impl Doubt {
    /// A call took too long.
    pub(super) fn raise(&self) {
        self.raised.store(true, Ordering::Relaxed);
    }

    fn is_raised(&self) -> bool {
        self.raised.load(Ordering::Relaxed)
    }
}

impl Connection {
    /// Whether the server may be called. One that is in doubt is asked first, and `within` is how long it may be silent then.
    pub(crate) async fn state(&self, within: Duration) -> State {
        let is_silent =
            self.is_open() && self.doubt.is_raised() && !self.answers_something(within).await;
        match (self.is_open(), is_silent) {
            (false, _) => State::Ended,
            (true, true) => State::Hung,
            (true, false) => State::Open,
        }
    }

    /// Whether the server is there now: it is asked in any case.
    pub(crate) async fn probe(&self, within: Duration) -> State {
        self.doubt.raise();
        self.state(within).await
    }

    /// Whether a call took too long, and nothing is known since.
    pub(crate) fn is_in_doubt(&self) -> bool {
        self.is_open() && self.doubt.is_raised()
    }

    async fn answers_something(&self, within: Duration) -> bool {
        let mut question = self.doubt.question.lock().await;
        if question.is_none() {
            let options = PeerRequestOptions::no_options();
            let asked = self.service.peer().send_cancellable_request(self.question(), options);
            // Where nothing can be sent, it ended, and that is seen elsewhere.
            let Ok(handle) = asked.await else { return true };
            *question = Some(Question {
                pending: Pending::new(handle, &self.cancels),
                since: Instant::now(),
            });
        }
        let Some(Question { pending, since }) = question.as_mut() else { return true };
        let answers_something = tokio::select! {
            biased;
            _ = pending.answer() => true,
            answered = self.answers_another(*since, within) => answered,
        };
        *question = None;
        self.doubt.raised.store(false, Ordering::Relaxed);
        answers_something
    }

    /// Whether it answers something else that was asked: waits until it does, or answered nothing for so long while nothing was open
    /// that it could be busy with. A call whose time is not over is not ended for another one's.
    async fn answers_another(&self, since: Instant, within: Duration) -> bool {
        loop {
            self.calls.none_open().await;
            if self.wire.heard().is_some_and(|heard| heard > since) {
                return true;
            }
            let end = since + within;
            if Instant::now() >= end {
                return false;
            }
            sleep_until(end).await;
        }
    }

    /// What every server of its revision can answer, and at once.
    fn question(&self) -> ClientRequest {
        match self.era {
            Era::Stateless => ClientRequest::DiscoverRequest(DiscoverRequest::new(
                DiscoverRequestParams::default(),
            )),
            Era::Initialize(_) => ClientRequest::PingRequest(PingRequest {
                method: PingRequestMethod,
                extensions: Default::default(),
            }),
        }
    }
}

//! One running server, spoken to in its revision.

mod doubt;
mod pending;
mod start;

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use agent_process::{Process, ShutdownSteps};
use rmcp::{
    RoleClient,
    model::{ClientRequest, RequestMetaObject},
    service::{PeerRequestOptions, RunningService},
};
use serde_json::Value;
use tokio::time::timeout;

use self::{
    doubt::Doubt,
    pending::{Cancels, Pending},
};
pub(crate) use self::{
    doubt::State,
    pending::Unanswered,
    start::{NotStarted, Start},
};
use crate::{
    elicit::Asker,
    era::Era,
    handler::{Calls, ForCall, Handler},
    wire::{Noise, WireState},
};

/// So long a server has to take the cancels of its calls before its input is closed.
const CANCEL_WAIT: Duration = Duration::from_millis(500);

/// A server that is started and answers. Dropping it kills the server with all that it started.
pub(crate) struct Connection {
    process: Process,
    service: RunningService<RoleClient, Handler>,
    wire: Arc<WireState>,
    calls: Calls,
    asker: Option<Asker>,
    answered: AtomicBool,
    doubt: Doubt,
    cancels: Cancels,
    /// Why it was ended from here.
    given_up: OnceLock<String>,
    pub(crate) era: Era,
    /// Its name and version, as it says.
    pub(crate) says_it_is: Option<String>,
}

impl Connection {
    /// Whether it can still be spoken to.
    pub(crate) fn is_open(&self) -> bool {
        self.process.exited().is_none() && !self.service.peer().is_transport_closed()
    }

    /// What the server wrote that is no message.
    pub(crate) fn noise(&self) -> Noise {
        self.wire.noise()
    }

    /// A call came to an answer.
    pub(crate) fn answered(&self) {
        self.answered.store(true, Ordering::Relaxed);
    }

    /// Whether any did.
    pub(crate) fn has_answered(&self) -> bool {
        self.answered.load(Ordering::Relaxed)
    }

    /// Asks the server, for a call where it is for one, and waits for so long at most.
    pub(crate) async fn request(
        &self,
        request: ClientRequest,
        call: Option<ForCall<'_>>,
        limit: Duration,
    ) -> Result<Value, Unanswered> {
        let open = self.calls.open(call);
        let mut options = PeerRequestOptions::no_options();
        let may_ask = call.is_some() && self.asker.as_ref().is_some_and(Asker::connected);
        if self.era == Era::Stateless && may_ask {
            let mut meta = RequestMetaObject::new();
            meta.set_client_capabilities(Asker::capability());
            options = options.with_meta(meta);
        }
        let peer = self.service.peer();
        let Ok(handle) = peer.send_cancellable_request(request, options).await else {
            return Err(Unanswered::NotSent(self.why_it_ended().await));
        };
        open.sent(&handle.progress_token);
        let mut pending = Pending::new(handle, &self.cancels);
        tokio::select! {
            answer = pending.answer() => match answer {
                Ok(result) => Ok(result),
                Err(Some(error)) => Err(Unanswered::of(error)),
                Err(None) => Err(Unanswered::Lost(self.why_it_ended().await)),
            },
            () = open.patience.run_out(limit) => {
                if call.is_some() {
                    self.doubt.raise();
                }
                Err(Unanswered::TimedOut(limit))
            }
        }
    }

    /// Kills the server with all that it started. Whoever still waits for it is told why.
    pub(crate) fn give_up(&self, why: &str) {
        let _first = self.given_up.set(why.to_owned());
        self.process.tree().kill();
        self.service.cancellation_token().cancel();
    }

    /// Ends the server: closes its input, waits, and insists.
    pub(crate) async fn close(&self, steps: &ShutdownSteps) {
        self.cancels.are_sent(CANCEL_WAIT).await;
        self.service.cancellation_token().cancel();
        self.process.shutdown(steps).await;
    }

    /// How it ended, with its last words.
    pub(crate) async fn why_it_ended(&self) -> String {
        if let Some(why) = self.given_up.get() {
            return why.clone();
        }
        let noise = self.noise();
        if noise.flooded() {
            return format!("it was given up: {}", noise.said().unwrap_or_default());
        }
        let how = match timeout(start::EXIT_WAIT, self.process.wait()).await {
            Ok(exit) => format!("it {exit}"),
            Err(_) => "it closed its output".to_owned(),
        };
        start::last_words(self.wire.hidden(how))
    }
}

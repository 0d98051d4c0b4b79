//! What a server tells and asks while it works.

use std::{
    collections::{BTreeMap, VecDeque},
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use agent_tool_core::{Context, Event};
use rmcp::{
    ClientHandler, RoleClient,
    model::{
        ClientCapabilities, ClientConfig, CustomRequest, CustomResult, ErrorCode, ErrorData,
        Implementation, ProgressNotificationParam, ProgressToken,
    },
    service::RequestContext,
};
use serde_json::Value;
use tokio::sync::Notify;

use crate::{
    elicit::{Asker, Questions},
    era::CLIENT,
    patience::Patience,
    text::clean_line,
};

/// So many characters of a progress message are told.
const PROGRESS_CHARS: usize = 200;

/// So many messages about progress are kept until it is known whose they are.
const MAX_EARLY: usize = 16;

/// The calls of one connection that are not answered yet, the newest last.
#[derive(Clone, Debug, Default)]
pub(crate) struct Calls(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    live: Mutex<Live>,
    ended: Notify,
}

/// Whom a request is made for.
#[derive(Clone, Copy)]
pub(crate) struct ForCall<'a> {
    pub(crate) cx: &'a Context,
    pub(crate) questions: &'a Questions,
}

#[derive(Debug, Default)]
struct Live {
    calls: BTreeMap<u64, Call>,
    /// Progress that came before it was known what it is told under.
    early: VecDeque<ProgressNotificationParam>,
}

#[derive(Debug)]
struct Call {
    cx: Context,
    questions: Questions,
    patience: Patience,
    /// What progress of it is told under, once it was sent, and how far it was.
    token: Option<ProgressToken>,
    progress: f64,
}

/// A call's place among them, until it is dropped.
pub(crate) struct Open {
    calls: Calls,
    number: Option<u64>,
    pub(crate) patience: Patience,
}

impl Calls {
    /// A place for a request: among the calls where it is one, for which a server may ask and tell.
    pub(crate) fn open(&self, call: Option<ForCall<'_>>) -> Open {
        let calls = &mut self.lock().calls;
        let patience = Patience::new();
        let number = call.map(|ForCall { cx, questions }| {
            let number = calls.last_key_value().map_or(0, |(number, _)| number + 1);
            let (cx, questions, patience) = (cx.clone(), questions.clone(), patience.clone());
            calls.insert(number, Call { cx, questions, patience, token: None, progress: -1.0 });
            number
        });
        Open { calls: self.clone(), number, patience }
    }

    /// The call that a question of the server belongs to. The older revisions do not say which; the newest is the likeliest.
    fn newest(&self) -> Option<(Context, Questions, Patience)> {
        let live = self.lock();
        let (_, call) = live.calls.last_key_value()?;
        Some((call.cx.clone(), call.questions.clone(), call.patience.clone()))
    }

    /// Waits until none is open.
    pub(crate) async fn none_open(&self) {
        loop {
            let mut ended = pin!(self.0.ended.notified());
            ended.as_mut().enable();
            if self.lock().calls.is_empty() {
                return;
            }
            ended.await;
        }
    }

    /// Tells how far a call is.
    pub(crate) fn progress(&self, told: ProgressNotificationParam) {
        let live = &mut *self.lock();
        let of = |call: &&mut Call| call.token.as_ref() == Some(&told.progress_token);
        match live.calls.values_mut().find(of) {
            Some(call) => call.tell(&told),
            None => {
                live.early.truncate(MAX_EARLY - 1);
                live.early.push_front(told);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Live> {
        self.0.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Call {
    fn tell(&mut self, told: &ProgressNotificationParam) {
        if told.progress <= self.progress {
            return;
        }
        self.progress = told.progress;
        let message = clean_line(told.message.as_deref().unwrap_or_default(), PROGRESS_CHARS);
        let (done, total) = (whole(told.progress), told.total.and_then(whole));
        self.cx.emit(Event::Progress { message, done, total });
    }
}

impl Open {
    /// The request of the call was sent, and this is what its progress is told under.
    pub(crate) fn sent(&self, token: &ProgressToken) {
        let live = &mut *self.calls.lock();
        let call = self.number.and_then(|number| live.calls.get_mut(&number));
        let Some(call) = call else { return };
        let early = live.early.iter().rev().filter(|told| told.progress_token == *token);
        early.for_each(|told| call.tell(told));
        call.token = Some(token.clone());
        live.early.retain(|told| told.progress_token != *token);
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            self.calls.lock().calls.remove(&number);
            self.calls.0.ended.notify_waiters();
        }
        self.patience.end();
    }
}

/// A number of units, where it is one.
fn whole(number: f64) -> Option<u64> {
    const WHOLE_LIMIT: f64 = 9_007_199_254_740_992.0;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "bounded, and without a fraction"
    )]
    let whole =
        (number.fract() == 0.0 && (0.0..=WHOLE_LIMIT).contains(&number)).then_some(number as u64);
    whole
}

/// The client's side of one connection.
pub(crate) struct Handler {
    pub(crate) calls: Calls,
    pub(crate) asker: Option<Asker>,
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        // What it can do beyond nothing is said with each request.
        ClientConfig::new(ClientCapabilities::default(), Implementation::new(CLIENT.0, CLIENT.1))
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleClient>,
    ) -> Result<CustomResult, ErrorData> {
        let unknown =
            || ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "this client does not offer it", None);
        if request.method != "elicitation/create" {
            return Err(unknown());
        }
        let asker = self.asker.as_ref().filter(|asker| asker.connected()).ok_or_else(unknown)?;
        let (cx, questions, patience) = self.calls.newest().ok_or_else(|| {
            ErrorData::new(ErrorCode::INVALID_REQUEST, "no call is open that could ask", None)
        })?;
        let _standing = patience.pause();
        let params = request.params.unwrap_or(Value::Null);
        let answer = tokio::select! {
            answer = asker.ask(&params, ForCall { cx: &cx, questions: &questions }) => answer,
            // The card goes with the call, with the connection, and with the server's interest.
            () = patience.ended() => Asker::cancelled(),
            () = context.ct.cancelled() => Asker::cancelled(),
        };
        Ok(CustomResult::new(answer))
    }
}

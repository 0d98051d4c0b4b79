//! One server of the configuration: started when it is needed, started again when it died.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use agent_process::ShutdownSteps;
use agent_tool_core::{Context, ToolError};
use rmcp::model::{CallToolRequest, CallToolRequestParams, ClientRequest, InputResponses};
use serde_json::{Map, Value};
use tokio::time::{Instant, sleep_until, timeout};

use crate::{
    answer::{Answer, Outcome},
    connection::{Connection, NotStarted, Start, State, Unanswered},
    elicit::{Asker, Questions},
    era::Era,
    error,
    handler::ForCall,
    memory::Memory,
    text::seconds,
    wire::string_of,
};

/// So often a server may ask before it carries a call out.
const MAX_ROUNDS: usize = 10;

/// So many questions it may ask at once.
const MAX_QUESTIONS: usize = 8;

/// A server, running or not.
pub(crate) struct Server {
    pub(crate) name: String,
    start: Start,
    slot: tokio::sync::Mutex<Slot>,
    memory: Mutex<Memory>,
    /// That it was ended for being hung, until a call is told.
    untold: Mutex<Option<String>>,
}

/// What there is of it.
#[derive(Default)]
struct Slot {
    connection: Option<Arc<Connection>>,
    /// Starts in a row after which no call came to an answer.
    failures: u32,
    not_before: Option<Instant>,
    known: Option<Era>,
}

/// Why a call has no result, and what the server said in its place.
pub(crate) struct NoResult {
    pub(crate) error: ToolError,
    pub(crate) said: Option<Outcome>,
}

impl From<ToolError> for NoResult {
    fn from(error: ToolError) -> Self {
        Self { error, said: None }
    }
}

impl Server {
    pub(crate) fn new(name: String, start: Start) -> Self {
        Self {
            name,
            start,
            slot: Default::default(),
            memory: Mutex::default(),
            untold: Mutex::default(),
        }
    }

    /// Asks the server to carry a call out. Its request is sent once, whatever becomes of it.
    pub(crate) async fn call(
        &self,
        tool: &str,
        args: &Map<String, Value>,
        cx: &Context,
    ) -> Result<Outcome, NoResult> {
        let limit = self.start.config.timeout;
        let connected = match timeout(limit, self.connection()).await {
            Ok(connection) => connection.map_err(|why| error::down(&self.name, &why.0).into()),
            Err(_) => Err(error::down(&self.name, &self.why_not_started(limit)).into()),
        };
        let ended = self.untold().take();
        let questions = Questions::default();
        let call = ForCall { cx, questions: &questions };
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(args.clone());
        let result = match connected {
            Ok(connection) => self.rounds(&connection, params, call, limit).await,
            Err(error) => Err(error),
        };
        let notes: Vec<String> = ended.into_iter().chain(questions.said()).collect();
        match result {
            Ok(outcome) => Ok(Outcome { notes, ..outcome }),
            Err(NoResult { error, said }) => {
                Err(NoResult { error: error::with_notes(error, &notes), said })
            }
        }
    }

    fn untold(&self) -> MutexGuard<'_, Option<String>> {
        self.untold.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn why_not_started(&self, within: Duration) -> String {
        let slot = self.slot.try_lock().ok();
        let in_doubt = |slot: &Slot| slot.connection.as_ref().is_some_and(|c| c.is_in_doubt());
        if slot.as_deref().is_some_and(in_doubt) {
            return format!(
                "a call of it took too long, and it was asked whether it is there; it is ended once it answered nothing for {} s and no \
                 other call of it is open",
                seconds(self.start.times.hung)
            );
        }
        let not_before = slot.and_then(|slot| slot.not_before);
        let left = not_before.map(|time| time.saturating_duration_since(Instant::now()));
        match left.filter(|left| !left.is_zero()) {
            Some(left) => {
                format!("its last starts failed, so none is tried for another {} s", seconds(left))
            }
            None => format!("it could not be started within {} s", seconds(within)),
        }
    }

    /// The earlier results.
    pub(crate) fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The server as it runs, started where it does not. Only one at a time starts it.
    pub(crate) async fn connection(&self) -> Result<Arc<Connection>, NotStarted> {
        let mut slot = self.slot.lock().await;
        if let Some(connection) = slot.connection.clone() {
            match connection.state(self.start.times.hung).await {
                State::Open => return Ok(connection),
                State::Ended => {}
                State::Hung => {
                    let silent = seconds(self.start.times.hung);
                    connection.give_up(&format!(
                        "an earlier call of it took too long, and then it answered nothing for {silent} s when it was asked whether it \
                         is there, so it was taken for hung and ended"
                    ));
                    *self.untold() = Some(format!(
                        "the MCP server {} let an earlier call run out of time, and then answered nothing for {silent} s when it was \
                         asked whether it is there: it was taken for hung, ended with all that it had started, and is started \
                         again; what the earlier call did is still not known, it was not repeated, and what the server kept in its \
                         memory is gone",
                        self.name
                    ));
                }
            }
            // Whoever answered calls is no server that only dies.
            if connection.has_answered() {
                slot.failures = 0;
            }
            slot.connection = None;
            self.failed(&mut slot);
        }
        if let Some(not_before) = slot.not_before {
            sleep_until(not_before).await;
        }
        match self.start.connect(slot.known.as_ref()).await {
            Ok(connection) => {
                let connection = Arc::new(connection);
                slot.known = Some(connection.era.clone());
                slot.connection = Some(Arc::clone(&connection));
                Ok(connection)
            }
            Err(why) => {
                self.failed(&mut slot);
                Err(why)
            }
        }
    }

    /// Why it is not there any more; none where it answers, and where it was never started.
    pub(crate) async fn gone(&self) -> Option<String> {
        let connection = self.slot.lock().await.connection.clone()?;
        let within = self.start.times.hung;
        match connection.probe(within).await {
            State::Open => None,
            State::Ended => Some(connection.why_it_ended().await),
            State::Hung => Some(format!(
                "it answered nothing for {} s when it was asked whether it is there",
                seconds(within)
            )),
        }
    }

    /// Ends the server, where it runs.
    pub(crate) async fn close(&self, steps: &ShutdownSteps) {
        if let Some(connection) = self.slot.lock().await.connection.take() {
            connection.close(steps).await;
        }
    }

    pub(crate) fn times(&self) -> crate::Times {
        self.start.times
    }

    fn failed(&self, slot: &mut Slot) {
        slot.failures = slot.failures.saturating_add(1);
        slot.not_before = Some(Instant::now() + self.start.times.pause(slot.failures));
    }

    /// One request, and one more for each time that the server asks first. (Specification of 2026-07-28, "Multi round-trip
    /// requests".)
    async fn rounds(
        &self,
        connection: &Connection,
        mut params: CallToolRequestParams,
        call: ForCall<'_>,
        limit: Duration,
    ) -> Result<Outcome, NoResult> {
        let mut is_shown = true;
        for round in 0..=MAX_ROUNDS {
            let request = ClientRequest::CallToolRequest(CallToolRequest::new(params.clone()));
            let answer = connection.request(request, Some(call), limit).await;
            let answer = Answer::read(answer.map_err(|why| self.unanswered(why, round))?);
            connection.answered();
            match answer.map_err(|why| error::unreadable(&self.name, &why))? {
                Answer::Complete(outcome) => return Ok(outcome),
                Answer::InputRequired { requests, state } => {
                    params.input_responses = Some(self.input(&requests, call).await?);
                    is_shown = requests.values().all(|asked| Asker::is_shown(&asked["params"]));
                    params.request_state = state;
                }
            }
        }
        let not_shown = match is_shown {
            true => "",
            false => ", at last for what is no form that this client shows to a person",
        };
        let why = format!("it asked more than {MAX_ROUNDS} times{not_shown}");
        Err(error::asks_in_vain(&self.name, &why).into())
    }

    /// What a person answers to each of these questions.
    async fn input(
        &self,
        requests: &Map<String, Value>,
        call: ForCall<'_>,
    ) -> Result<InputResponses, ToolError> {
        if requests.len() > MAX_QUESTIONS {
            let why = format!("it asks {} things at once", requests.len());
            return Err(error::asks_in_vain(&self.name, &why));
        }
        let asker = self.start.asker.as_ref().filter(|asker| asker.connected());
        let mut responses = InputResponses::new();
        for (key, request) in requests {
            let method = string_of(request, "method").unwrap_or_default();
            let asker = match (asker, method) {
                (Some(asker), "elicitation/create") => asker,
                (None, "elicitation/create") => {
                    let why = "it asks the person, and nobody is connected to answer";
                    return Err(error::asks_in_vain(&self.name, why));
                }
                (_, other) => {
                    let method = crate::text::clean_line(other, 60);
                    let why = format!("`{method}`, which this client does not offer");
                    return Err(error::asks_in_vain(&self.name, &why));
                }
            };
            let params = request.get("params").unwrap_or(&Value::Null);
            responses.insert(key.clone(), Asker::ask(asker, params, call).await);
        }
        Ok(responses)
    }

    fn unanswered(&self, why: Unanswered, round: usize) -> NoResult {
        let server = &self.name;
        let error = match why {
            Unanswered::NotSent(why) if round == 0 => error::down(server, &why),
            Unanswered::NotSent(why) | Unanswered::Lost(why) => error::lost(server, &why),
            Unanswered::TimedOut(limit) => error::timed_out(server, limit),
            Unanswered::TooLarge(bytes) => {
                let most = crate::wire::MAX_MESSAGE_BYTES;
                error::unreadable(
                    server,
                    &format!("it has {bytes} bytes, and at most {most} are taken"),
                )
            }
            Unanswered::Unreadable(why) => error::unreadable(server, &why),
            Unanswered::Rejected(rejection) => {
                let error = error::broken_off(server, &rejection);
                return NoResult { error, said: Some(Outcome::of_error(&rejection)) };
            }
        };
        error.into()
    }
}

//! A model in memory, tools in memory, and what a test asks of a turn.

use std::{
    collections::VecDeque,
    future::Future,
    sync::{Arc, Mutex},
};

use agent_loop::{
    Agent, CallResult, Conversation, Delta, DeltaStream, End, Message, Model, ModelError,
    ModelErrorKind, ModelLimits, Outcome, RawCall, Request, StopReason, Turn, TurnEvent, Usage,
};
use agent_tool_core::{
    BoxFuture, Context, Dispatch, ErrorKind, Limits, Part, Tier, ToolCall, ToolError, ToolOutput,
    ToolResult, ToolSpec,
};
use futures::{StreamExt, stream};
use serde_json::Value;

/// Runs a test in which time is paused: what waits for a timer alone does not wait.
pub(crate) fn run(test: impl Future<Output = ()>) {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().start_paused(true).build().unwrap().block_on(test);
}

/// Runs a test with real connections, in real time.
#[cfg(feature = "providers")]
pub(crate) fn run_live(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test);
}

/// One thing that the model in memory does.
pub(crate) enum Move {
    Give(Delta),
    Fail(ModelError),
    Hang,
}

/// A model that gives its answers in turn and keeps what it was asked.
pub(crate) struct Scripted {
    answers: Mutex<VecDeque<Vec<Move>>>,
    seen: Mutex<Vec<Seen>>,
    limits: ModelLimits,
}

#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) system: String,
    pub(crate) messages: Vec<Arc<Message>>,
    pub(crate) tools: Vec<String>,
}

impl Scripted {
    pub(crate) fn new(answers: impl IntoIterator<Item = Vec<Move>>) -> Arc<Self> {
        Self::with(ModelLimits::new(100_000), answers)
    }

    pub(crate) fn with(
        limits: ModelLimits,
        answers: impl IntoIterator<Item = Vec<Move>>,
    ) -> Arc<Self> {
        let answers = Mutex::new(answers.into_iter().collect());
        Arc::new(Self { answers, seen: Mutex::default(), limits })
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

impl Model for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }

    fn limits(&self) -> ModelLimits {
        self.limits
    }

    fn stream<'a>(&'a self, request: Request<'a>) -> DeltaStream<'a> {
        self.seen.lock().unwrap().push(Seen {
            system: request.system.to_owned(),
            messages: request.messages.to_vec(),
            tools: request.tools.iter().map(|spec| spec.name.clone()).collect(),
        });
        let moves = self.answers.lock().unwrap().pop_front().expect("another answer");
        Box::pin(stream::iter(moves).then(|made| async {
            match made {
                Move::Give(delta) => Ok(delta),
                Move::Fail(error) => Err(error),
                Move::Hang => std::future::pending().await,
            }
        }))
    }
}

pub(crate) fn says(text: &str) -> Vec<Move> {
    vec![Move::Give(Delta::Text(text.into())), Move::Give(Delta::Stop(StopReason::End))]
}

/// An answer that makes these calls: id, tool, arguments as they are written.
pub(crate) fn calls(calls: &[(&str, &str, &str)]) -> Vec<Move> {
    let given = calls.iter().map(|(id, name, args)| RawCall::new(*id, *name, *args));
    let given = given.map(|call| Move::Give(Delta::Call(call)));
    given.chain([Move::Give(Delta::Stop(StopReason::Calls))]).collect()
}

pub(crate) fn fails(kind: ModelErrorKind) -> Vec<Move> {
    vec![Move::Fail(ModelError::new(kind, "it failed"))]
}

/// The same answer with what it used.
pub(crate) fn used(mut answer: Vec<Move>, usage: Usage) -> Vec<Move> {
    answer.insert(0, Move::Give(Delta::Usage(usage)));
    answer
}

type Behaviour = Arc<dyn Fn(Value) -> BoxFuture<'static, ToolResult> + Send + Sync>;

/// Tools in memory.
#[derive(Clone, Default)]
pub(crate) struct Toolbox {
    tools: Arc<Mutex<Vec<(ToolSpec, Behaviour)>>>,
    made: Arc<Mutex<Vec<(String, String, Value)>>>,
}

impl Toolbox {
    /// With `read` (parallel), which repeats what it is given, and `broken`, which fails.
    pub(crate) fn new() -> Self {
        let toolbox = Self::default();
        toolbox.add(ToolSpec::new("read", Tier::Read, "Reads."), |args| async move {
            let path = args["path"].as_str().unwrap_or("nothing").to_owned();
            Ok(ToolOutput::text(format!("content of {path}")))
        });
        toolbox.add(ToolSpec::new("broken", Tier::Write, "Fails."), |_| async {
            let error =
                ToolError::new(ErrorKind::Conflict, "stale", "the file changed; read it again");
            Err(error.with_data(serde_json::json!({"at": 3})))
        });
        toolbox
    }

    pub(crate) fn add<F: Future<Output = ToolResult> + Send + 'static>(
        &self,
        spec: ToolSpec,
        behaviour: impl Fn(Value) -> F + Send + Sync + 'static,
    ) {
        let behaviour: Behaviour = Arc::new(move |args| Box::pin(behaviour(args)));
        self.tools.lock().unwrap().push((spec, behaviour));
    }

    pub(crate) fn remove(&self, name: &str) {
        self.tools.lock().unwrap().retain(|(spec, _)| spec.name != name);
    }

    /// The calls that arrived: id, tool, arguments.
    pub(crate) fn made(&self) -> Vec<(String, String, Value)> {
        self.made.lock().unwrap().clone()
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.made().into_iter().map(|(_, name, _)| name).collect()
    }
}

impl Dispatch for Toolbox {
    fn specs(&self) -> Vec<ToolSpec> {
        self.tools.lock().unwrap().iter().map(|(spec, _)| spec.clone()).collect()
    }

    fn call<'a>(&'a self, call: ToolCall, _parent: &'a Context) -> BoxFuture<'a, ToolResult> {
        let id = call.id.map(|id| id.as_str().to_owned()).unwrap_or_default();
        self.made.lock().unwrap().push((id, call.name.clone(), call.args.clone()));
        let tools = self.tools.lock().unwrap();
        let behaviour = tools.iter().find(|(spec, _)| spec.name == call.name);
        match behaviour.map(|(_, behaviour)| Arc::clone(behaviour)) {
            Some(behaviour) => behaviour(call.args),
            None => Box::pin(async move { Err(ToolError::unknown_tool(&call.name)) }),
        }
    }

    fn narrow(&self, _limits: Limits) -> Arc<dyn Dispatch> {
        Arc::new(self.clone())
    }
}

pub(crate) fn agent(model: &Arc<Scripted>, toolbox: &Toolbox) -> Agent {
    let model: Arc<dyn Model> = Arc::clone(model) as Arc<dyn Model>;
    Agent::new(model, Arc::new(toolbox.clone()), Context::detached())
}

/// A turn that begins with what the person says, and its events.
pub(crate) async fn ask(
    agent: &Agent,
    conversation: &mut Conversation,
    text: &str,
) -> (Turn, Vec<TurnEvent>) {
    conversation.push_user(text);
    go_on(agent, conversation).await
}

pub(crate) async fn go_on(
    agent: &Agent,
    conversation: &mut Conversation,
) -> (Turn, Vec<TurnEvent>) {
    let events = Mutex::new(Vec::new());
    let turn = agent.turn(conversation, &|event| events.lock().unwrap().push(event)).await;
    (turn, events.into_inner().unwrap())
}

/// A person's words and the model's answers: one turn over these answers with the standard tools.
pub(crate) async fn turn_of(answers: Vec<Vec<Move>>) -> (Turn, Conversation, Arc<Scripted>) {
    let model = Scripted::new(answers);
    let mut conversation = Conversation::new();
    let (turn, _) = ask(&agent(&model, &Toolbox::new()), &mut conversation, "go").await;
    (turn, conversation, model)
}

/// The end as it is written.
pub(crate) fn end(end: &End) -> Value {
    serde_json::to_value(end).unwrap()
}

/// All results in a conversation, in order.
pub(crate) fn results(messages: &[Arc<Message>]) -> Vec<CallResult> {
    let results = messages.iter().filter_map(|message| match &**message {
        Message::Tool { results } => Some(results.clone()),
        _ => None,
    });
    results.flatten().collect()
}

/// The results as `outcome: text`.
pub(crate) fn told(messages: &[Arc<Message>]) -> Vec<(Outcome, String)> {
    results(messages).into_iter().map(|result| (result.outcome, text(&result.parts))).collect()
}

pub(crate) fn text(parts: &[Part]) -> String {
    let texts = parts.iter().map(|part| match part {
        Part::Text { text } => text.clone(),
        _ => "<image>".to_owned(),
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Whether each call has its result in the message after it, and nothing else is a result.
pub(crate) fn is_paired(messages: &[Arc<Message>]) -> bool {
    let mut open: Vec<&str> = Vec::new();
    for message in messages {
        match &**message {
            Message::Tool { results } => {
                if open.is_empty() || !results.iter().map(|result| &result.call_id).eq(open.iter())
                {
                    return false;
                }
                open.clear();
            }
            _ if !open.is_empty() => return false,
            Message::Assistant(answer) => {
                open = answer.calls.iter().map(|call| call.id.as_str()).collect();
            }
            _ => {}
        }
    }
    open.is_empty()
}

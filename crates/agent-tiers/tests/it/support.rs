//! Tools from functions, a person in a channel, a transcript in memory.

use std::{
    io::{self, Write},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use agent_testkit::NobodyThere;
use agent_tiers::{
    Approval, ApproveMode, Record, Registry, Rules, Run, RunBuilder, Surface, View, What,
};
use agent_tool_core::{
    BoxFuture, Card, CardError, CardPort, Context, Limits, Preview, Reply, Tier, Tool, ToolCall,
    ToolError, ToolOutput, ToolResult, ToolSpec,
};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

type CallFn = dyn Fn(Value, Context) -> BoxFuture<'static, ToolResult> + Send + Sync;
type PreviewFn = dyn Fn(&Value) -> Result<Preview, ToolError> + Send + Sync;

/// A tool from a function.
pub(crate) struct FnTool {
    spec: ToolSpec,
    call: Box<CallFn>,
    preview: Option<Box<PreviewFn>>,
}

impl FnTool {
    /// It takes any argument.
    pub(crate) fn new<F, R>(mut spec: ToolSpec, call: F) -> Self
    where
        F: Fn(Value, Context) -> R + Send + Sync + 'static,
        R: Future<Output = ToolResult> + Send + 'static,
    {
        if spec.input_schema["properties"] == json!({}) {
            spec.input_schema = json!({"type": "object", "additionalProperties": true});
        }
        Self { spec, call: Box::new(move |args, cx| Box::pin(call(args, cx))), preview: None }
    }

    pub(crate) fn with_preview(
        mut self,
        preview: impl Fn(&Value) -> Result<Preview, ToolError> + Send + Sync + 'static,
    ) -> Self {
        self.preview = Some(Box::new(preview));
        self
    }
}

impl Tool for FnTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, args: Value, cx: &'a Context) -> BoxFuture<'a, ToolResult> {
        (self.call)(args, cx.clone())
    }

    fn preview<'a>(
        &'a self,
        args: &'a Value,
        _cx: &'a Context,
    ) -> BoxFuture<'a, Result<Preview, ToolError>> {
        let preview = match &self.preview {
            Some(preview) => preview(args),
            None => Ok(Preview::of_arguments(&self.spec, args)),
        };
        Box::pin(async move { preview })
    }
}

/// A tool that says its name.
pub(crate) fn says(name: &str, tier: Tier) -> FnTool {
    let text = name.to_owned();
    FnTool::new(ToolSpec::new(name, tier, "Says its name."), move |_, _| {
        let text = text.clone();
        async move { Ok(ToolOutput::text(text)) }
    })
}

/// A tool that calls the tool `args.tool` with `args.args`.
pub(crate) fn calls(name: &str, tier: Tier) -> FnTool {
    FnTool::new(ToolSpec::new(name, tier, "Calls another."), |args, cx| async move {
        let name = args["tool"].as_str().unwrap_or_default().to_owned();
        cx.call(ToolCall::new(name, args["args"].clone())).await
    })
}

/// A tool that counts its calls.
pub(crate) fn counts(name: &str, tier: Tier) -> (FnTool, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&count);
    let tool = FnTool::new(ToolSpec::new(name, tier, "Counts."), move |_, _| {
        counter.fetch_add(1, Ordering::SeqCst);
        async { Ok(ToolOutput::text("counted")) }
    });
    (tool, count)
}

pub(crate) fn registry(tools: impl IntoIterator<Item = FnTool>) -> Registry {
    let tools = tools.into_iter().map(|tool| Arc::new(tool) as Arc<dyn Tool>);
    Registry::builder().tools(tools).build().expect("a registry")
}

/// A run in which everything is approved.
pub(crate) fn approving(tools: impl IntoIterator<Item = FnTool>) -> RunBuilder {
    let approval = Approval::new(ApproveMode::All, Rules::default(), Arc::new(NobodyThere));
    Run::builder(registry(tools)).approval(approval)
}

pub(crate) fn full(run: &Run) -> View {
    run.view(Surface::Full, Limits::default())
}

pub(crate) async fn call(view: &View, name: &str) -> ToolResult {
    call_with(view, name, json!({})).await
}

pub(crate) async fn call_with(view: &View, name: &str, args: Value) -> ToolResult {
    view.call(ToolCall::new(name, args)).await
}

/// The code of a call that was to fail.
pub(crate) fn code(result: ToolResult) -> String {
    result.expect_err("an error").code.into_owned()
}

/// A card that was shown and the way to answer it.
pub(crate) struct Shown {
    pub(crate) card: Card,
    reply: oneshot::Sender<Result<Reply, CardError>>,
}

impl Shown {
    pub(crate) fn choose(self, option: &str) {
        self.answer(Ok(Reply::option(option)));
    }

    pub(crate) fn answer(self, reply: Result<Reply, CardError>) {
        self.reply.send(reply).expect("the card still waits");
    }

    /// Waits until the card is withdrawn.
    pub(crate) async fn withdrawn(mut self) {
        self.reply.closed().await;
    }
}

/// The run's end of a person.
pub(crate) struct Port {
    shown: mpsc::UnboundedSender<Shown>,
    connected: AtomicBool,
}

pub(crate) fn person() -> (Arc<Port>, mpsc::UnboundedReceiver<Shown>) {
    let (shown, cards) = mpsc::unbounded_channel();
    (Arc::new(Port { shown, connected: AtomicBool::new(true) }), cards)
}

/// The next card. Tests with cards run on a paused clock: one that never comes fails at once.
pub(crate) async fn card(cards: &mut mpsc::UnboundedReceiver<Shown>) -> Shown {
    in_time(cards.recv()).await.expect("a card")
}

/// What a future gives, on a paused clock: one that never does fails at once.
pub(crate) async fn in_time<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(Duration::from_secs(60), future).await.expect("an answer comes")
}

impl Port {
    pub(crate) fn leave(&self) {
        self.connected.store(false, Ordering::SeqCst);
    }
}

impl CardPort for Port {
    fn connected(&self) -> bool {
        self.connected.load(Ordering::SeqCst)
    }

    fn present(&self, card: Card) -> BoxFuture<'_, Result<Reply, CardError>> {
        let (reply, answer) = oneshot::channel();
        self.shown.send(Shown { card, reply }).expect("the test holds the cards");
        Box::pin(async move { answer.await.unwrap_or(Ok(Reply::Withdrawn)) })
    }
}

pub(crate) fn asking(port: &Arc<Port>) -> Approval {
    asking_by(Rules::default(), port)
}

pub(crate) fn asking_by(rules: Rules, port: &Arc<Port>) -> Approval {
    let port: Arc<dyn CardPort> = Arc::clone(port) as _;
    Approval::new(ApproveMode::Ask, rules, port)
}

/// A transcript in memory.
#[derive(Clone, Default)]
pub(crate) struct Lines(Arc<Mutex<Vec<u8>>>);

impl Lines {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().expect("not poisoned").clone()).expect("UTF-8")
    }

    pub(crate) fn records(&self) -> Vec<Record> {
        let text = self.text();
        text.lines().map(|line| serde_json::from_str(line).expect("a record")).collect()
    }

    /// One word a record: its type, with the call's id where it is about a call, and what a cancelled one waited for.
    pub(crate) fn outline(&self) -> Vec<String> {
        self.records().iter().map(|record| outline(&record.what)).collect()
    }
}

pub(crate) fn outline(what: &What) -> String {
    let value = serde_json::to_value(what).expect("JSON");
    let word = |key: &str| value[key].as_str().map(str::to_owned);
    let words = ["type", "call_id", "waited_for"].into_iter().filter_map(word);
    words.collect::<Vec<_>>().join(" ")
}

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("not poisoned").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

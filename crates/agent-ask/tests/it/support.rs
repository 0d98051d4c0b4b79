//! A person in a channel.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use agent_ask::{ANSWER_WITHIN, Asker, Conversation, ask_tool};
use agent_tool_core::{
    BoxFuture, Card, CardError, CardPort, CardQueue, Context, Reply, Tool, ToolError, ToolResult,
};
use serde_json::Value;
use tokio::{
    sync::{Notify, mpsc, oneshot},
    task::JoinHandle,
};

/// A card that was shown and the way to answer it.
pub(crate) struct Shown {
    pub(crate) card: Card,
    reply: oneshot::Sender<Result<Reply, CardError>>,
}

impl Shown {
    pub(crate) fn answer(self, reply: Reply) {
        self.reply.send(Ok(reply)).expect("the card still waits");
    }

    /// Answers whether or not anybody still waits, and says which it was.
    pub(crate) fn answer_late(self, reply: Reply) -> bool {
        self.reply.send(Ok(reply)).is_ok()
    }

    /// Fails as a port does.
    pub(crate) fn fail(self, why: &str) {
        self.reply.send(Err(CardError::new(why))).expect("the card still waits");
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
    touched: Notify,
    told: Mutex<Vec<(String, String)>>,
}

impl Port {
    pub(crate) fn leave(&self) {
        self.connected.store(false, Ordering::SeqCst);
    }

    /// The person types.
    pub(crate) fn touch(&self) {
        self.touched.notify_one();
    }

    /// Which cards the person was told were withdrawn, and why.
    pub(crate) fn told(&self) -> Vec<(String, String)> {
        self.told.lock().expect("not poisoned").clone()
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

    fn withdrawn(&self, card_id: &str, why: &str) {
        self.told.lock().expect("not poisoned").push((card_id.to_owned(), why.to_owned()));
    }

    fn touched<'a>(&'a self, _card_id: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(self.touched.notified())
    }
}

/// A person, what they are shown, and the tool that asks them.
pub(crate) struct Scene {
    pub(crate) port: Arc<Port>,
    pub(crate) cards: mpsc::UnboundedReceiver<Shown>,
    pub(crate) tool: Arc<dyn Tool>,
    pub(crate) queue: CardQueue,
}

impl Scene {
    pub(crate) fn new() -> Self {
        Self::with_time(ANSWER_WITHIN)
    }

    pub(crate) fn with_time(time: Duration) -> Self {
        let (shown, cards) = mpsc::unbounded_channel();
        let port = Arc::new(Port {
            shown,
            connected: AtomicBool::new(true),
            touched: Notify::new(),
            told: Mutex::default(),
        });
        let queue = CardQueue::new(Arc::clone(&port) as Arc<dyn CardPort>);
        let asker = Asker::with_time(queue.clone(), Conversation::new("main"), time);
        Self { port, cards, tool: ask_tool(asker), queue }
    }

    /// Begins to ask.
    pub(crate) fn ask(&self, args: Value) -> JoinHandle<ToolResult> {
        let tool = Arc::clone(&self.tool);
        tokio::spawn(async move { tool.call(args, &Context::detached()).await })
    }

    /// The next card. On a paused clock one that never comes fails at once.
    pub(crate) async fn card(&mut self) -> Shown {
        in_time(self.cards.recv()).await.expect("a card")
    }

    /// Asks, answers the card, and gives back what came of it.
    pub(crate) async fn asked(&mut self, args: Value, reply: Reply) -> ToolResult {
        let asked = self.ask(args);
        self.card().await.answer(reply);
        asked.await.expect("no panic")
    }
}

/// What a future gives, on a paused clock: one that never does fails at once.
pub(crate) async fn in_time<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(Duration::from_secs(24 * 3600), future).await.expect("an answer comes")
}

/// A tool with this port.
pub(crate) fn tool_of(port: impl CardPort) -> Arc<dyn Tool> {
    ask_tool(Asker::new(CardQueue::new(Arc::new(port)), Conversation::new("main")))
}

pub(crate) fn chosen(options: &[&str], text: Option<&str>) -> Reply {
    Reply::Chosen {
        options: options.iter().map(ToString::to_string).collect(),
        text: text.map(str::to_owned),
    }
}

/// The error of a call that was to fail.
pub(crate) fn error(result: ToolResult) -> ToolError {
    result.expect_err("an error")
}

/// What every error and skip tells the model to do.
pub(crate) fn says_to_go_on(text: &str) -> bool {
    let text = text.to_lowercase();
    text.contains("go on with an assumption") && text.contains("do not ask this again")
}

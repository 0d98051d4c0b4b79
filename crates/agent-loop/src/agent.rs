//! A model with its tools.

use std::{fmt, sync::Arc, time::Duration};

use agent_tool_core::{Context, Dispatch};

use crate::{Conversation, Model, Retry, Stop, Turn, Watch, live::Live, turn};

/// How many steps a turn has unless the host says otherwise.
pub const STEPS: u32 = 200;

/// How long a model may be silent, in the middle of an answer too, before the request counts as failed.
pub const SILENCE: Duration = Duration::from_secs(300);

/// A model with its tools: what continues a [`Conversation`].
///
/// It holds nothing of the conversation, so one conversation may be continued by another agent, with
/// another model or other tools, and one agent may continue many.
#[derive(Clone)]
#[must_use]
pub struct Agent {
    pub(crate) model: Arc<dyn Model>,
    pub(crate) dispatch: Arc<dyn Dispatch>,
    pub(crate) parent: Context,
    pub(crate) system: String,
    pub(crate) steps: u32,
    pub(crate) context: Option<usize>,
    pub(crate) retry: Retry,
    pub(crate) silence: Duration,
}

impl Agent {
    /// A model that calls through `dispatch` on behalf of `parent`: for the main agent the root of a
    /// run, for a worker a context of its own, whose id begins the ids of its calls.
    pub fn new(model: Arc<dyn Model>, dispatch: Arc<dyn Dispatch>, parent: Context) -> Self {
        Self {
            model,
            dispatch,
            parent,
            system: String::new(),
            steps: STEPS,
            context: None,
            retry: Retry::default(),
            silence: SILENCE,
        }
    }

    /// The agent with a system text.
    pub fn system(mut self, text: impl Into<String>) -> Self {
        self.system = text.into();
        self
    }

    /// The agent with at most so many steps in a turn, instead of [`STEPS`]. A step is one answer with
    /// its calls.
    pub fn steps(mut self, steps: u32) -> Self {
        self.steps = steps;
        self
    }

    /// The agent with at most so many tokens of context, where the model takes more.
    pub fn context(mut self, tokens: usize) -> Self {
        self.context = Some(tokens);
        self
    }

    /// The agent with this way to repeat requests.
    pub fn retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }

    /// The agent with a model that may be silent for so long, instead of [`SILENCE`].
    pub fn silence(mut self, silence: Duration) -> Self {
        self.silence = silence;
        self
    }

    /// The model.
    #[must_use]
    pub fn model(&self) -> &dyn Model {
        &*self.model
    }

    /// Goes on with the conversation until the model is done, or until something else ends the turn. It
    /// ends with what the person said, or with results that an earlier turn left at its bound.
    ///
    /// Dropping the future cancels the turn: the request is ended, the calls under way are dropped,
    /// and the conversation is left valid, with the text as far as it came and with a result for each
    /// call, which says what is known of it. It needs tokio's timers.
    pub async fn turn(&self, conversation: &mut Conversation, watch: &dyn Watch) -> Turn {
        self.turn_until(conversation, watch, &Stop::new()).await
    }

    /// The same, and once `stop` is set nothing more begins.
    pub async fn turn_until(
        &self,
        conversation: &mut Conversation,
        watch: &dyn Watch,
        stop: &Stop,
    ) -> Turn {
        let model = self.model.name().to_owned();
        let mut live = Live::new(conversation, watch, model, stop.clone());
        let end = turn::drive(self, &mut live).await;
        live.finish(end)
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent")
            .field("model", &self.model.name())
            .field("parent", &self.parent)
            .field("steps", &self.steps)
            .field("retry", &self.retry)
            .finish_non_exhaustive()
    }
}

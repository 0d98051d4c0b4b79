//! What was said so far.

use std::{collections::HashSet, fmt, sync::Arc};

use agent_tool_core::Part;
use serde::{Deserialize, Serialize};

use crate::{
    Message, Repairs,
    repair::repair,
    window::{Fitted, TooLong, Window},
};

/// A conversation. It is a value: a host saves it with serde and goes on with it later, and a clone
/// shares its messages.
///
/// A turn that is dropped leaves it valid. One that was killed may have left a call without a
/// result: the next turn answers it first, and says that its fate is unknown.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Conversation {
    messages: Vec<Arc<Message>>,
    /// How far from its beginning it is sent shortened. What is kept here is always whole.
    #[serde(default, skip_serializing_if = "Window::is_whole")]
    shortened: Window,
}

impl Conversation {
    /// A conversation in which nothing was said.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A conversation of these messages, as [`TurnEvent::Message`](crate::TurnEvent::Message) gave
    /// them one by one.
    #[must_use]
    pub fn from_messages(messages: impl IntoIterator<Item = Arc<Message>>) -> Self {
        Self { messages: messages.into_iter().collect(), shortened: Window::default() }
    }

    /// Adds what the person says.
    pub fn push_user(&mut self, text: impl Into<String>) {
        self.push(Message::user(text));
    }

    /// Adds what the person says, with images.
    pub fn push_parts(&mut self, parts: Vec<Part>) {
        self.push(Message::User { parts });
    }

    /// The messages, whole.
    #[must_use]
    pub fn messages(&self) -> &[Arc<Message>] {
        &self.messages
    }

    /// The text of the model's last answer since the person spoke last. Empty where there is none. What a
    /// turn came to is in its [`Turn`](crate::Turn); this is for a conversation that was loaded.
    #[must_use]
    pub fn last_text(&self) -> &str {
        for message in self.messages.iter().rev() {
            match &**message {
                Message::Assistant(answer) => return &answer.text,
                Message::User { .. } => return "",
                Message::Tool { .. } => {}
            }
        }
        ""
    }

    /// Makes the conversation valid: each call gets a result, which says that the call was
    /// interrupted and, where it may have acted, that its fate is unknown. A turn begins with it.
    pub fn repair(&mut self) -> Repairs {
        let repairs = repair(&mut self.messages);
        if !repairs.is_none() {
            self.shortened.forget();
        }
        repairs
    }

    pub(crate) fn push(&mut self, message: Message) -> Arc<Message> {
        let message = Arc::new(message);
        self.messages.push(Arc::clone(&message));
        message
    }

    pub(crate) fn call_ids(&self) -> HashSet<String> {
        let answers = self.messages.iter().filter_map(|message| match &**message {
            Message::Assistant(answer) => Some(answer),
            _ => None,
        });
        answers.flat_map(|answer| answer.calls.iter().map(|call| call.id.clone())).collect()
    }

    /// The conversation as it may be sent within `budget` tokens, of which `fixed` are spent already.
    pub(crate) fn fit(&mut self, fixed: usize, budget: usize) -> Result<Fitted, TooLong> {
        self.shortened.fit(&self.messages, fixed, budget)
    }
}

impl fmt::Debug for Conversation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversation").field("messages", &self.messages).finish_non_exhaustive()
    }
}

//! What a person is shown: a question or a request for permission, which look the same because
//! they are the same.

use std::{error::Error, fmt};

use serde::{Deserialize, Serialize};

use crate::{BoxFuture, CallId, Caller, Preview, for_approval};

/// What a card is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CardKind {
    /// A tool asks the person something.
    Question,
    /// A call needs the person's permission.
    Permission,
}

/// What choosing an option of a permission does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// This call may go on.
    AllowOnce,
    /// This tool may be called by this caller until the run ends.
    AllowRun,
    /// This call is refused.
    RejectOnce,
    /// This tool is refused to this caller until the run ends.
    RejectRun,
}

/// One answer that can be chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CardOption {
    /// Names the option in a [`Reply`].
    pub id: String,
    /// What the person reads.
    pub label: String,
    /// More about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What choosing it does; permissions alone have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<Effect>,
    /// Whether it is no answer to what is asked, such as one that declines to answer at all: where an answer is typed, a number is
    /// the answer and not this option.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub aside: bool,
}

impl CardOption {
    /// An option of a question.
    #[must_use]
    pub fn new(id: impl Into<String>, label: impl Into<String>) -> Self {
        Self { id: id.into(), label: label.into(), description: None, effect: None, aside: false }
    }

    /// The same option with a description.
    #[must_use]
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// The same option as one that is no answer to what is asked.
    #[must_use]
    pub fn aside(mut self) -> Self {
        self.aside = true;
        self
    }

    /// The same option with an effect.
    #[must_use]
    pub fn with_effect(mut self, effect: Effect) -> Self {
        self.effect = Some(effect);
        self
    }
}

/// A numbered card in the conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Card {
    /// Identifies the card within its run.
    pub id: String,
    /// What the card is about.
    pub kind: CardKind,
    /// The call that waits for the answer.
    pub call_id: CallId,
    /// Who asks: the chain of callers, outermost first. Empty for the main agent.
    #[serde(default)]
    pub asked_by: Vec<Caller>,
    /// One line.
    pub title: String,
    /// The question at length, or why permission is needed.
    #[serde(default)]
    pub body: String,
    /// What the call would do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<Preview>,
    /// What can be chosen.
    #[serde(default)]
    pub options: Vec<CardOption>,
    /// Whether a typed answer is accepted.
    #[serde(default)]
    pub free_text: bool,
    /// Whether several options may be chosen.
    #[serde(default)]
    pub several: bool,
    /// When the asker stops waiting, in milliseconds since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
    /// How many other cards waited behind this one when it went up.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub waiting: usize,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl Card {
    /// A card without options.
    #[must_use]
    pub fn new(
        kind: CardKind,
        id: impl Into<String>,
        call_id: CallId,
        title: impl Into<String>,
    ) -> Self {
        Self {
            id: id.into(),
            kind,
            call_id,
            asked_by: Vec::new(),
            title: title.into(),
            body: String::new(),
            preview: None,
            options: Vec::new(),
            free_text: false,
            several: false,
            expires_at: None,
            waiting: 0,
        }
    }

    /// The card as a person may be shown it: every string went through [`for_approval`]. Ids and
    /// the preview's fingerprint stay as they are, since they come back in the answer.
    #[must_use]
    pub fn for_person(mut self) -> Self {
        let clean = |text: &mut String| *text = for_approval(text);
        clean(&mut self.title);
        clean(&mut self.body);
        self.asked_by.iter_mut().for_each(|caller| clean(&mut caller.name));
        for option in &mut self.options {
            clean(&mut option.label);
            option.description.iter_mut().for_each(clean);
        }
        if let Some(preview) = &mut self.preview {
            clean(&mut preview.title);
            clean(&mut preview.body);
            preview.locations.iter_mut().for_each(|location| clean(&mut location.path));
            for change in &mut preview.changes {
                clean(&mut change.path);
                for side in [&mut change.before, &mut change.after] {
                    if let crate::Content::Text { text } = side {
                        clean(text);
                    }
                }
            }
        }
        self
    }

    /// Holds a reply against what the card asks.
    ///
    /// # Errors
    ///
    /// An option that the card does not have, more options than it allows, text where it asks for
    /// none, or an answer that says nothing. What refuses a call takes a text on any permission: the
    /// reason.
    pub fn check(&self, reply: &Reply) -> Result<(), CardError> {
        let Reply::Chosen { options, text } = reply else { return Ok(()) };
        if let Some(unknown) = options.iter().find(|id| !self.options.iter().any(|o| o.id == **id))
        {
            return Err(CardError::new(format!("card {} has no option {unknown:?}", self.id)));
        }
        if options.len() > 1 && !self.several {
            return Err(CardError::new(format!("card {} takes one option", self.id)));
        }
        if text.is_some() && !self.free_text && !self.takes_reason(options) {
            return Err(CardError::new(format!("card {} takes no typed answer", self.id)));
        }
        if options.is_empty() && text.as_ref().is_none_or(|text| text.trim().is_empty()) {
            return Err(CardError::new(format!("the answer to card {} is empty", self.id)));
        }
        Ok(())
    }

    /// Whether these options refuse a call once, which the person may give a reason for.
    fn takes_reason(&self, options: &[String]) -> bool {
        let [chosen] = options else { return false };
        let chosen = self.options.iter().find(|option| option.id == *chosen);
        let refuses = chosen.is_some_and(|option| option.effect == Some(Effect::RejectOnce));
        refuses && self.kind == CardKind::Permission
    }
}

/// What came back for a card.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reply {
    /// The person chose or typed an answer.
    Chosen {
        /// The ids of the chosen options.
        #[serde(default)]
        options: Vec<String>,
        /// What was typed: an answer, or why a call is refused.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    /// The person does not want to answer.
    Skipped,
    /// The card is gone without an answer: the person left, or the port closed.
    Withdrawn,
}

impl Reply {
    /// One chosen option.
    #[must_use]
    pub fn option(id: impl Into<String>) -> Self {
        Reply::Chosen { options: vec![id.into()], text: None }
    }
}

/// Where cards are shown. One port serves questions and permissions.
pub trait CardPort: Send + Sync + 'static {
    /// Whether somebody is there to answer.
    fn connected(&self) -> bool;

    /// Shows a card until it is answered. Dropping the future withdraws the card.
    ///
    /// # Errors
    ///
    /// An answer that does not fit the card is the port's error, never a guess.
    fn present(&self, card: Card) -> BoxFuture<'_, Result<Reply, CardError>>;

    /// Says why a card goes away, in a sentence for its person: the future of
    /// [`CardPort::present`] is dropped next. An asker that has nothing to say just drops it.
    ///
    /// A port that can tell the person does, so that whoever answers too late knows what became of
    /// the question. The default tells nobody.
    fn withdrawn(&self, _card_id: &str, _why: &str) {}

    /// Waits until the person is next seen to work on this card, such as by typing. An asker whose
    /// time runs out begins it anew then. The default sees nothing and never ends.
    fn touched<'a>(&'a self, _card_id: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(std::future::pending())
    }
}

/// A port that could not bring a usable answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardError {
    message: String,
}

impl CardError {
    /// An error with this message.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }
}

impl fmt::Display for CardError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for CardError {}

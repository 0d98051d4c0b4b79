//! What came of a question.

use serde::Serialize;
use serde_json::{Value, json};

use crate::error::GO_ON;

/// What a person said to a question. Silence is none of these: it is an error.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answer {
    /// The person chose, typed, or did both.
    Answered {
        /// The chosen options, in the order of the card.
        selected: Vec<Selected>,
        /// What was typed, verbatim.
        text: Option<String>,
    },
    /// The person does not want to answer.
    Skipped,
}

/// An option that was chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Selected {
    /// Its number on the card, from 1.
    pub index: usize,
    /// Its label.
    pub label: String,
}

impl Selected {
    /// The option with this number, from 1, and label.
    #[must_use]
    pub fn new(index: usize, label: impl Into<String>) -> Self {
        Self { index, label: label.into() }
    }
}

impl Answer {
    /// The answer for a model. What a person said stands there as it was said, without a word about
    /// what to do now: it may be to wait.
    #[must_use]
    pub fn text(&self) -> String {
        let Answer::Answered { selected, text } = self else {
            return format!("The person skipped the question. {GO_ON}.");
        };
        let mut lines = Vec::new();
        if !selected.is_empty() {
            lines.push("The person chose:".to_owned());
            lines.extend(selected.iter().map(|one| format!("{}. {}", one.index, one.label)));
        }
        if let Some(text) = text {
            lines.push(format!("The person wrote:\n{text}"));
        }
        lines.join("\n")
    }

    /// The answer as JSON: `{"outcome":"answered"|"skipped","selected":[{"index","label"}],"text"}`.
    #[must_use]
    pub fn data(&self) -> Value {
        match self {
            Answer::Answered { selected, text } => {
                json!({"outcome": "answered", "selected": selected, "text": text})
            }
            Answer::Skipped => json!({"outcome": "skipped", "selected": [], "text": null}),
        }
    }
}

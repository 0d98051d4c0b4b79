//! The questions of a run that a person left unanswered.

use std::{collections::HashMap, sync::Mutex};

use agent_tool_core::ToolError;

use crate::{Answer, Question, error, lock};

/// Why a question has no answer that is worth asking for again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unanswered {
    Skipped,
    TimedOut,
}

/// Keeps a person from being asked twice: a model is told not to, and does.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    questions: Mutex<HashMap<Vec<String>, Unanswered>>,
}

impl Memory {
    pub(crate) fn note(&self, question: &Question, why: Unanswered) {
        lock(&self.questions).insert(question.key(), why);
    }

    /// The outcome of this question, where it was asked before.
    pub(crate) fn outcome(&self, question: &Question) -> Option<Result<Answer, ToolError>> {
        let why = lock(&self.questions).get(&question.key()).copied()?;
        Some(match why {
            Unanswered::Skipped => Ok(Answer::Skipped),
            Unanswered::TimedOut => Err(error::timed_out_before()),
        })
    }
}

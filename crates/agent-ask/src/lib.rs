#![doc = include_str!("../README.md")]

mod answer;
mod asker;
mod card;
mod error;
mod question;
mod tool;
mod unanswered;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use crate::{
    answer::{Answer, Selected},
    asker::{ANSWER_WITHIN, Asker, Conversation},
    question::{
        CONTEXT_CHARS, Choice, DESCRIPTION_CHARS, LABEL_CHARS, MAX_OPTIONS, QUESTION_CHARS,
        Question,
    },
    tool::ask_tool,
};

/// Nothing panics while it holds one of our locks; a poisoned one still holds what is true.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

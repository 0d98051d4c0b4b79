#![doc = include_str!("../README.md")]

mod arguments;
mod clock;
mod level;
mod line;
mod links;
mod logs;
mod platform;
pub mod protocol;
mod refusal;
mod rotation;
mod site;
mod text;
mod tools;

pub use crate::{
    clock::{Clock, SystemClock},
    line::LINE_CHARS,
    platform::Containment,
    refusal::{Code, Refusal},
    rotation::{ARCHIVES, PLAN_LIVES},
    site::{Event, Site, Step},
    tools::{
        LINES, MATCHES, NAME_CHARS, NOTE_BYTES, NotesTools, SEARCH_BYTES, SEARCH_TIME, TEXT_CHARS,
        WINDOW_BYTES,
    },
};

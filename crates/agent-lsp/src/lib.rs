#![doc = include_str!("../README.md")]

pub mod checks;
pub mod diagnostic;
mod disk;
pub mod edits;
mod failures;
pub mod language;
pub mod ledger;
pub mod location;
mod lsp;
mod platform;
pub mod position;
mod query;
pub mod rename;
pub mod roots;
mod server;
mod supervisor;
pub mod symbol;
pub mod table;
mod tools;
pub mod uri;

pub use crate::{
    lsp::{
        ANSWER_WITHIN, BASELINE_WAITS, CHECK_WITHIN, Lsp, LspBuilder, STUCK_AFTER, WRITE_WAITS,
        WRITE_WAITS_FOR_START, Waits,
    },
    query::{
        CodeAction, CodeActions, MAX_ACTIONS, MAX_DOCUMENT_SYMBOLS, MAX_LOCATIONS,
        MAX_WORKSPACE_SYMBOLS, Navigation, Symbol, Symbols,
    },
    supervisor::{IDLE_AFTER, RESTART_AFTER},
};

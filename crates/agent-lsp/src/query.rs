//! What can be asked: one module for each kind of question.

mod actions;
mod asked;
mod check;
mod diagnostics;
mod hover;
mod navigate;
mod symbols;
mod unopened;

pub use self::{
    actions::{CodeAction, CodeActions, MAX_ACTIONS},
    navigate::{MAX_LOCATIONS, Navigation},
    symbols::{MAX_DOCUMENT_SYMBOLS, MAX_WORKSPACE_SYMBOLS, Symbol, Symbols},
};
pub(crate) use self::{
    asked::Asked,
    navigate::{position, targets},
};

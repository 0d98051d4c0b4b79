//! The contract's own promises.

mod args;
mod cards;
mod context;
mod line;
mod queue;
mod schema;
mod secrets;
mod text;

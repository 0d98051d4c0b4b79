//! The contract's own promises.

mod args;
mod cards;
mod context;
mod queue;
mod schema;
mod text;

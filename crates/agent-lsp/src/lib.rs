#![doc = include_str!("../README.md")]

pub mod checks;
pub mod diagnostic;
pub mod edits;
mod error;
pub mod language;
pub mod ledger;
pub mod location;
pub mod position;
pub mod rename;
pub mod roots;
pub mod symbol;
pub mod table;
pub mod uri;

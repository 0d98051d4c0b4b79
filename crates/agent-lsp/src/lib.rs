#![doc = include_str!("../README.md")]

pub mod checks;
pub mod diagnostic;
pub mod language;
pub mod ledger;
pub mod location;
pub mod position;
pub mod roots;
#[allow(dead_code)]
mod server;
pub mod symbol;
mod supervisor;
pub mod table;
pub mod uri;

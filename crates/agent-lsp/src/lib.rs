#![doc = include_str!("../README.md")]

pub mod diagnostic;
pub mod language;
pub mod location;
pub mod position;
pub mod symbol;
pub mod uri;

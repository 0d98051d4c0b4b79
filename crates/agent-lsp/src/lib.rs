#![doc = include_str!("../README.md")]

pub mod diagnostic;
pub mod location;
pub mod position;
pub mod uri;

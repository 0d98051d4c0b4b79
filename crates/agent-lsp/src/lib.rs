#![doc = include_str!("../README.md")]

pub mod diagnostic;
pub mod location;
pub mod position;
#[allow(dead_code)]
mod server;
pub mod uri;

#![doc = include_str!("../README.md")]

mod boot;
mod bridge;
mod budget;
pub mod environment;
mod interpreters;
mod javascript;
mod kernel;
mod language;
pub mod outcome;
pub mod render;
pub mod rewrite;
mod tool;
mod wire;

pub use crate::{
    budget::{IDLE, STEP_TIME},
    interpreters::{CALL_WITHIN, Cell, Interpreters, InterpretersBuilder, Limits, Site, Start},
    kernel::START_WITHIN,
    language::Language,
    outcome::Outcome,
    wire::{Bundle, Stream},
};

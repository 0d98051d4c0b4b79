#![doc = include_str!("../README.md")]

pub mod dap;
pub mod lsp;
pub mod mcp;
#[cfg(feature = "model")]
pub mod model;
mod played;
mod ports;
pub mod processes;
mod specs;

pub use crate::{
    ports::{NobodyThere, ScriptedPerson},
    specs::{SURFACE_TOKENS, spec_faults, tokens},
};

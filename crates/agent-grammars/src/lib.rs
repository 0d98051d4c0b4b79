#![doc = include_str!("../README.md")]

mod error;
mod grammar;
mod languages;
#[cfg(feature = "language-pack")]
mod pack;
#[cfg(feature = "language-pack")]
mod platform;
mod profile;
mod registry;

pub use error::{GrammarError, GrammarErrorKind};
pub use grammar::{Grammar, Origin};
pub use profile::{
    Context, ContextName, Keywords, Layout, Opener, Profile, Spelling, TokenBoundaries,
};
pub use registry::Grammars;
/// The tree-sitter that every grammar here is built for, so that users link the same one.
pub use tree_sitter;

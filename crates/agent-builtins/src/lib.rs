#![doc = include_str!("../README.md")]

mod resources;
mod rules;

pub use crate::{resources::Resources, rules::default_rules};

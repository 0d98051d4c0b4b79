//! The tests of the run, by theme.

mod approval;
mod authority;
mod budget;
mod chains;
mod endings;
mod events;
mod registry;
mod support;
mod transcript;
mod turns;

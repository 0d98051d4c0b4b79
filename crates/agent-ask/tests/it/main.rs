//! Questions to a person, on a paused clock.

mod answers;
mod ends;
mod questions;
mod run;
mod support;

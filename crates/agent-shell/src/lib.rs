#![doc = include_str!("../README.md")]

mod changes;
mod error;
mod output;
mod report;
mod run;
mod tool;

pub use crate::{
    changes::{MAX_CHANGES, MAX_FILES_COMPARED},
    output::{MAX_HEAD_BYTES, MAX_TAIL_BYTES},
    report::{Ending, ShellReport},
    run::{DEFAULT_TIME, MAX_COMMAND_BYTES, MAX_TIME, Shell, ShellArgs},
};

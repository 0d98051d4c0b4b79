#![doc = include_str!("../README.md")]

mod capture;
mod environment;
mod error;
mod excerpt;
mod exit;
pub mod find;
pub mod frame;
pub mod guard;
mod launcher;
mod line;
mod mark;
mod platform;
mod prefix;
mod process;
mod program;
mod sandbox;
mod tail;
mod text;
mod tree;

pub use environment::{EnvironmentRule, close_to_children};
pub use error::{Error, ErrorKind, Result};
pub use excerpt::{Characters, Excerpt, ExcerptText};
pub use exit::{ExitReport, Shutdown, ShutdownStep, ShutdownSteps};
pub use find::{Finder, Found, Missing, Place, Trust, Wanted};
pub use guard::{Guard, GuardKind, Priority};
pub use launcher::{Launcher, RunLimits, RunOutput};
pub use line::{CommandLine, NoCommandLine};
pub use mark::MARK_VARIABLE;
pub use prefix::{NoPrefix, Prefix};
pub use process::{ExitWatch, Process};
pub use program::{Input, Output, Program};
pub use sandbox::{Command, NoSandbox, Sandbox};
pub use tail::{MAX_TAIL_LINE_CHARS, MAX_TAIL_LINES, Tail};
pub use tree::Tree;

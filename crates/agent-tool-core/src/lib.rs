#![doc = include_str!("../README.md")]

mod args;
mod card;
mod clip;
mod context;
mod error;
mod event;
mod gate;
mod line;
mod output;
mod panics;
mod preview;
mod queue;
mod schema;
mod secrets;
mod spec;
mod stop;
mod text;
mod tool;
mod wrap;

pub use crate::{
    args::{check_args, parse_args},
    card::{Card, CardError, CardKind, CardOption, CardPort, Effect, Reply},
    clip::{Clipped, clip, clip_middle, counted},
    context::{CallId, Caller, Context, Dispatch, Events, Limits, Nothing, ToolCall},
    error::{ErrorKind, ToolError},
    event::Event,
    gate::{Decision, Gate},
    line::{Line, Place},
    output::{ChangeKind, Content, FileChange, Part, ToolOutput},
    panics::{caught, panic_message},
    preview::{Location, Preview, PreviewKind},
    queue::CardQueue,
    schema::portable,
    secrets::{SECRET_BYTES, Secrets},
    spec::{Tier, ToolSpec},
    stop::{PROGRESS_EVERY, Stop, StopOnDrop},
    text::{as_at_terminal, for_approval, for_person, with_traces},
    tool::{BoxFuture, Tool, ToolResult},
    wrap::{described, renamed},
};

#![doc = include_str!("../README.md")]

mod agent;
mod calls;
mod conversation;
mod error;
mod event;
mod ids;
mod images;
mod live;
mod marks;
mod message;
mod model;
#[cfg(feature = "providers")]
pub mod providers;
mod repair;
mod repeats;
mod retry;
mod shorten;
mod stop;
mod tokens;
mod turn;
mod usage;
mod window;

pub use crate::{
    agent::{Agent, SILENCE, STEPS},
    calls::PARALLEL_CALLS,
    conversation::Conversation,
    error::{ModelError, ModelErrorKind},
    event::{End, Turn, TurnEvent, Unwatched, Watch},
    message::{Answer, Call, CallResult, Message, Outcome},
    model::{Delta, DeltaStream, Model, ModelLimits, RawCall, Request, StopReason},
    repair::Repairs,
    repeats::{REPEATS_ENDED, REPEATS_TOLD},
    retry::{Retry, UNKNOWN_HOST_TIMES},
    stop::Stop,
    usage::{Count, Tally, Usage},
};

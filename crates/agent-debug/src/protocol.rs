//! The debug adapter protocol as adapters really speak it.
//!
//! What comes in is read by an envelope of this crate's own: nothing that an adapter adds, leaves out or misspells loses a
//! message, and what is not known keeps its name. What is sent is made of `debug_types`, whose structures serialise as the
//! protocol says.

mod event;
mod incoming;
mod leaf;
pub(crate) mod outgoing;

pub use self::{
    event::{Event, Output, Stop},
    incoming::{Incoming, Response},
    leaf::{Breakpoint, Capabilities, ExceptionInfo, Frame, Scope, Source, Thread, Variable},
};

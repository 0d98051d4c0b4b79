//! What crosses the kernel's pipes: frames, in them the kernel's outputs and its messages, put back into their order.

mod frame;
mod message;
mod sequence;

pub use self::message::Bundle;
pub(crate) use self::{
    frame::{Frame, FrameDecoder, encode_message, encode_signal},
    message::{Message, Said, ToolReply, execute_request, tool_reply},
    sequence::{Sequenced, Sequencer},
};

/// One of the kernel's two outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// Whom a signal is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// The kernel's process.
    Process,
    /// The kernel with everything in its process group.
    Group,
}

//! The tools and their protocol. The cases bear the names under which they were agreed.

mod bad_clients;
mod clients;
mod log_search;
mod log_tail;
mod messages;
mod note_read;
mod peer;
mod program;
mod protocol;
mod rotation;
mod sample;
mod support;

//! One running server and the connection to it.

mod capabilities;
mod client;
mod connection;
mod documents;
mod inbox;
pub(crate) mod requests;
mod settle;
mod told;

pub(crate) use self::{
    client::{Client, NO_SUCH_METHOD, Readiness, Start},
    connection::CallError,
    documents::Watched,
    settle::{Checks, Sent, Settled, Snapshot, words},
};

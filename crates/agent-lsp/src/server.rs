//! One running server and the connection to it.

mod capabilities;
mod client;
mod connection;
mod documents;
mod inbox;
pub(crate) mod requests;
mod settle;
mod told;
mod tsserver;

pub(crate) use self::{
    client::{Client, NO_SUCH_METHOD, Readiness, Start, is_empty, is_out_of_date},
    connection::CallError,
    documents::Watched,
    settle::{Checks, Sent, Settled, Snapshot, words},
    told::State,
};

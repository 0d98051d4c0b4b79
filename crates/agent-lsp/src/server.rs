//! One running server and the connection to it.

mod capabilities;
mod check;
mod client;
mod configuration;
mod connection;
mod documents;
mod inbox;
mod readiness;
pub(crate) mod requests;
mod settle;
mod sync;
mod told;
mod tsserver;
mod watchers;

pub(crate) use self::{
    client::{Client, NO_SUCH_METHOD, Start, is_empty, is_out_of_date},
    configuration::Configured,
    connection::CallError,
    documents::Watched,
    readiness::Readiness,
    settle::{Checks, Sent, Settled, Snapshot, words},
    told::State,
};

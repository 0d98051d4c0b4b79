//! One running server and the connection to it.

mod capabilities;
mod client;
mod connection;
mod documents;
mod inbox;
mod requests;
mod settle;
mod told;

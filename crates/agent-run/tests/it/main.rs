//! The program as a person, a script and a harness use it.

mod artifacts;
mod cli;
mod home;
mod hosts;
mod peer;
mod processes;
mod schema;
mod serve;

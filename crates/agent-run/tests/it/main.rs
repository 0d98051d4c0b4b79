//! The program as a person, a script and a harness use it.

mod artifacts;
mod cli;
mod doctor;
mod home;
mod hosts;
mod peer;
mod processes;
mod schema;
mod serve;
mod terminal;
mod tmux;
mod trust;

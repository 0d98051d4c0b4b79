//! The program as a person, a script and a harness use it.

mod artifacts;
mod cards;
mod cells;
mod chat;
mod cli;
mod config;
mod debugged;
mod doctor;
mod home;
mod hosts;
mod images;
mod looks;
mod mcp;
mod peer;
mod pipes;
mod processes;
mod schema;
mod secrets;
mod serve;
mod state;
mod talk;
mod terminal;
mod tmux;
mod trust;
mod typed;
mod workers;

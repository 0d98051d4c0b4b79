#![doc = include_str!("../README.md")]

mod answer;
mod bridge;
mod config;
mod connection;
mod elicit;
mod era;
mod error;
mod handler;
mod held;
mod listing;
mod memory;
mod name;
mod patience;
mod preview;
mod report;
mod schema;
mod server;
mod text;
mod times;
mod tool;
mod wire;

pub use crate::{
    bridge::{Bridge, BridgeBuilder, Waiting},
    config::{
        ConfigError, DEFAULT_CALL_TIME, MAX_CALL_SECONDS, ServerConfig, ServerTrust, Servers,
    },
    name::NAME_PREFIX,
    report::{ServerReport, ToolReport},
    times::Times,
};

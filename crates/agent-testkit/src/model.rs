//! A model server as data: HTTP on loopback that speaks Anthropic's messages and OpenAI's chat completions
//! as they stream, and answers from a script.
//!
//! A [`Script`] holds [`Rule`]s. The first one that fits a request and is not used up answers it: with text in
//! pieces, calls whose arguments come in fragments, usage, or a failure of any kind. What was asked is kept, so
//! that a test can say what a model was offered.
//!
//! ```
//! use agent_testkit::model::{ModelServer, Rule, Script};
//! use serde_json::json;
//!
//! let script: Script = serde_json::from_value(json!({"rules": [
//!     {"when": {"last": "who calls"}, "text": ["I ", "look."], "calls": [{"name": "search", "args": {"pattern": "close"}}]},
//!     {"text": "Nobody does."},
//! ]}))?;
//! assert_eq!(script.rules[1], Rule::text("Nobody does."));
//! let server = ModelServer::start(script)?;
//! assert!(server.url().starts_with("http://127.0.0.1:"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The server has a thread of its own, so a test may be asynchronous or not. As a process it is the binary
//! `scripted-model`, or a test's own executable that called [`main_if_asked`] first:
//!
//! ```sh
//! cargo run -p agent-testkit --features model -- fixtures/model/hello.json
//! ```
//!
//! It prints its address. `…/v1/messages` is Anthropic's, `…/v1/chat/completions` is OpenAI's; both take the
//! same script.

mod anthropic;
mod frames;
mod launch;
mod openai;
mod received;
mod script;
mod server;

pub use self::{
    launch::{LOG_VARIABLE, SCRIPT_VARIABLE, main_if_asked, serve_file},
    received::{Format, Log, Received},
    script::{Break, Call, Fail, How, Rule, Script, Usage, When},
    server::ModelServer,
};

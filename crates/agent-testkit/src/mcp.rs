//! A server of the Model Context Protocol as data: a scripted program with tools, in one revision or in both, with the flaws of
//! servers that a client meets.
//!
//! As with [`crate::lsp`] the fake is the test's own executable, run again with an environment variable: a test program calls
//! [`main_if_asked`] first in its `main`, and [`Script::peer`] says how the server is started.
//!
//! ```
//! use agent_testkit::mcp::{Does, Script, Speaks, tool};
//! use serde_json::json;
//!
//! // A tool that answers once and is silent from then on.
//! let script = Script::new(Speaks::Stateless).tool(tool("look"), [Does::text("seen"), Does::Silence]);
//! let json = serde_json::to_value(&script).unwrap();
//! assert_eq!(json["speaks"], "stateless");
//! assert_eq!(json["pages"][0][0]["name"], "look");
//! assert_eq!(json["does"]["look"][1], json!("silence"));
//! ```

mod launch;
mod script;
mod server;

pub use self::{
    launch::{Log, Peer, SCRIPT_VARIABLE, main_if_asked},
    script::{Does, Flaw, Pages, Script, Speaks, tool},
};

//! A debug adapter as data: a scripted program that speaks the debug adapter protocol.
//!
//! A [`Script`] holds a [`Toy`], a program of numbered lines that the fake really debugs, in the [`Manner`] of a real adapter,
//! and [`Rule`]s: at which request which [`Step`]s run instead. What no rule takes goes to the toy.
//!
//! As with [`crate::lsp`] the fake is the test's own executable, run again with an environment variable: a test program calls
//! [`main_if_asked`] first in its `main`, and [`Script::stub`] puts an executable into a folder for a subject that looks
//! programs up.
//!
//! ```
//! use agent_testkit::dap::{Manner, Rule, Script, Step, Toy};
//! use serde_json::json;
//!
//! // Stops at line 7 by a crash; the second stack is never answered.
//! let script = Script::new("lldb-dap", Toy::new(Manner::Lldb).lines(10).crash(7))
//!     .rule(Rule::on("stackTrace").nth(2).then([Step::Silence]));
//! let json = serde_json::to_value(&script).unwrap();
//! assert_eq!(json["rules"][0], json!({"on": "stackTrace", "nth": 2, "steps": ["silence"]}));
//! ```
//!
//! # The toy
//!
//! The program has the lines 1 to `lines`, in one file that is never looked at. Lines that five divides have no code: a
//! breakpoint there moves to the next line, and one past the end is not set. Each line that runs writes `line N`. The top frame
//! has the id 1000 at every stop and its variables the reference 1, so that whoever keeps an id is answered for another stop; a
//! variable `line` tells which.

mod adapter;
mod launch;
mod script;
mod toy;

pub use self::{
    launch::{Log, SCRIPT_VARIABLE, main_if_asked},
    script::{Rule, Script, Step},
    toy::{Manner, Toy},
};

//! A language server as data: a scripted program on standard input and output.
//!
//! A [`Script`] says what the server answers to `initialize` and holds [`Rule`]s: on which message
//! which [`Step`]s run. What no rule takes goes to the [`Toy`], a language that the fake really
//! understands, so that a test of diagnostics, navigation or rename scripts no positions. All that
//! the client sent is in a [`Log`].
//!
//! The fake is no program of its own: it is the test's own executable, run again with an environment
//! variable. A test program (`harness = false`) calls [`main_if_asked`] first in its `main`;
//! [`Script::install`] gives what starts the server, and [`Launch::stub`] puts an executable into a
//! folder for a subject that looks programs up.
//!
//! ```
//! use agent_testkit::lsp::{Nth, Rule, Script, Step, Toy};
//! use serde_json::json;
//!
//! // References are refused twice while the content moves on; hover asks the client first.
//! let script = Script::toy("moody-ls", Toy::push().unversioned().settling(150))
//!     .rule(
//!         Rule::on("textDocument/references")
//!             .nth(Nth::Until(2))
//!             .then([Step::content_modified()]),
//!     )
//!     .on("textDocument/hover", [
//!         Step::ask("workspace/configuration", json!({"items": [{"section": "moody"}]})),
//!         Step::Wait(400),
//!         Step::reply(json!({"contents": "configured as ${answer/result/0}"})),
//!     ]);
//! let json = json!({
//!     "name": "moody-ls",
//!     "toy": {"versions": "absent", "settle_ms": 150},
//!     "rules": [
//!         {
//!             "on": "textDocument/references", "nth": {"until": 2},
//!             "steps": [{"fail": {"code": -32801, "message": "content modified"}}],
//!         },
//!         {
//!             "on": "textDocument/hover",
//!             "steps": [
//!                 {"request": {
//!                     "method": "workspace/configuration",
//!                     "params": {"items": [{"section": "moody"}]}, "then": "await",
//!                 }},
//!                 {"wait": 400},
//!                 {"reply": {"contents": "configured as ${answer/result/0}"}},
//!             ],
//!         },
//!     ],
//! });
//! assert_eq!(serde_json::from_value::<Script>(json).unwrap(), script);
//! ```
//!
//! # Rules
//!
//! The first rule that fits takes the message; a request that its steps do not answer stays
//! unanswered. Documents are followed and the log is written whichever rule it is. Besides methods
//! there are [`ANY`], [`START`] (before anything is read) and [`END_OF_INPUT`].
//!
//! Steps run on the thread that reads, in order, up to the first that waits; from there they go on in a
//! thread of their own, and the server reads on. At [`START`] and [`END_OF_INPUT`] they wait where they
//! are, so there an answer of the client never comes.
//!
//! | Step | In JSON | What it does |
//! | --- | --- | --- |
//! | `Default` | `"default"` | what would be done without the rule |
//! | `Wait`, `Settle` | `{"wait": 400}` | time passes; `settle` gives up if the document is synced meanwhile |
//! | `Reply`, `Fail` | `{"reply": {…}}`, `{"fail": {"code", "message", "data"}}` | answers the request |
//! | `Silence` | `"silence"` | nothing: the request stays open until `$/cancelRequest` |
//! | `Notify` | `{"notify": {"method", "params"}}` | a notification |
//! | `Request` | `{"request": {"method", "params", "id", "then"}}` | a request; `"then": "await"` waits for the client's answer |
//! | `Send` | `{"send": {…}}` | any one message, framed right: a reply with a wrong id, a second reply |
//! | `Publish` | `{"publish": {"uri", "version", "diagnostics"}}` | diagnostics; `version`: `synced`, `message`, `older`, `absent`, `{"given": 7}` |
//! | `PublishToy`, `Check` | `{"publish_toy": {"first": 1}}`, `"check"` | what the toy finds now: in one file, or as its switches say |
//! | `Progress` | `{"progress": {"token", "value"}}` | `$/progress`; [`Step::create_progress`], `begin`, `report`, `end` write it |
//! | `Register`, `Unregister` | `{"register": {"id", "method", "options"}}` | a capability comes late, or goes |
//! | `ServerStatus` | `{"server_status": {"health", "quiescent"}}` | rust-analyzer's `experimental/serverStatus` |
//! | `AnalyzerStatus` | `{"analyzer_status": {"analyzing": true}}` | Dart's `$/analyzerStatus` |
//! | `Write` | `{"write": "…"}`, `{"write": [0, 255]}` | bytes on standard output |
//! | `Flawed` | `{"flawed": {"flaw": "no_space", "message": {…}}}` | a message with one [`Flaw`] |
//! | `StopReading` | `{"stop_reading": 500}`, `{"stop_reading": null}` | the input is left alone, for a time or for ever |
//! | `Flood` | `{"flood": {"publishes": 1000, "bytes": 1000}}` | writes so much, and reads nothing until it is out |
//! | `Stderr` | `{"stderr": "…"}` | a line on standard error |
//! | `Spawn` | `{"spawn": {"ms": 60000, "holds": "output"}}` | a process that sleeps, whatever becomes of the server |
//! | `Exit`, `Abort` | `{"exit": 1}`, `"abort"` | the end, by a code or by a signal |
//!
//! # Placeholders
//!
//! In a step's texts, values and names of fields. One that is a whole string becomes the value itself.
//!
//! | Placeholder | What it stands for |
//! | --- | --- |
//! | `${/position/line}` | what is there in the message's `params` |
//! | `${uri}`, `${version}` | the message's document, and the version of its last sync |
//! | `${root}` | the root's URI |
//! | `${id}`, `${id_text}`, `${method}` | the message's id as it is or as a text; its method |
//! | `${answer}`, `${answer/result/0}` | the client's last awaited answer, or what is there in it |
//!
//! # The toy language
//!
//! ```text
//! # a comment, which documents the definition below it
//! def area w h          defines `area`; `w` and `h` are uses
//! def square is shape   `square` is an implementation of `shape`, which is its type
//! def a.name            a member: `a.name` and `b.name` are different names
//! warn TEXT             a warning, code `W1`, message TEXT
//! x = area(y) "text"    uses; one that nothing defines is an error, code `E1`, `undefined name x`
//! ```
//!
//! All `*.toy` files of the root are one program; open documents stand for their files. It answers
//! hover, definition, type definition, implementation, references, symbols of document and workspace,
//! code actions (defines an undefined name), prepare rename, rename and pulled diagnostics.
//!
//! # Who sets the time
//!
//! Nothing here waits unless a script says so. Test for silence by a message that must come later,
//! not by a sleep; [`Log::wait`] and [`Log::seen`] end at the entry, not at the deadline.

mod documents;
mod edits;
mod flaw;
mod launch;
mod log;
mod own;
mod play;
mod position;
mod script;
mod server;
mod state;
mod step;
mod template;
mod toy;
mod uri;
pub(crate) mod wire;

pub use self::{
    edits::*,
    flaw::{Flaw, Raw},
    launch::{Launch, SCRIPT_VARIABLE, broken_stub, main_if_asked},
    log::{Entry, Kind, LOGGED_TEXT, Log, alive},
    position::Encoding,
    script::{ANY, END_OF_INPUT, Nth, Rule, START, Script},
    step::{Holds, Step, Then, Version},
    toy::{
        Columns, Diagnostics, Disk, EditVersions, Form, FromUse, Indexing, Others, Partial, Rename,
        Repeats, Says, Toy, Trigger, Versions,
    },
    uri::{Spelling, path_of, uri_of},
};

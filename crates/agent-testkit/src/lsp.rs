//! placeholder

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
mod step;
mod template;
mod toy;
mod uri;
mod wire;

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

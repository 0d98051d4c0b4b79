//! `note_read`: one note, which may be nowhere but beneath the notes.

use std::{
    fs::File,
    io::{self, Read},
    ops::RangeInclusive,
    path::Path,
};

use serde_json::{Map, Value, json};

use super::{Tool, closed, reads, record};
use crate::{
    arguments::Arguments,
    links,
    platform::{is_escape, is_link, is_no_name, is_special, open_beneath},
    protocol::Call,
    refusal::{ASK_A_PERSON, Code, Refusal},
    site::Site,
    text::{LineEnds, Room, show},
};

/// How many characters a name may have.
pub const NAME_CHARS: RangeInclusive<usize> = 1..=200;

/// A note's text is given up to this many bytes of UTF-8.
pub const NOTE_BYTES: usize = 65_536;

/// No byte takes less room when it is shown, so this much fills the text, and a character that the bound cuts is whole.
const READ_BYTES: u64 = NOTE_BYTES as u64 + 4;

pub(super) const TOOL: Tool = Tool { name: "note_read", definition, call };

fn definition() -> Value {
    json!({
        "name": "note_read",
        "title": "Read a note",
        "description": format!(
            "One note of the application, such as the one that a user tried to save, by its path beneath app/data/notes. Gives at most {NOTE_BYTES} \
            bytes of text; a path or a link that leads out of the notes is refused."
        ),
        "inputSchema": {
            "type": "object",
            "properties": {
                "name": {
                    "type": "string", "minLength": NAME_CHARS.start(), "maxLength": NAME_CHARS.end(),
                    "description": "A relative path inside the notes, such as welcome.md or work/plan.md; without `..`.",
                },
            },
            "required": ["name"],
            "additionalProperties": false,
        },
        "outputSchema": closed(json!({
            "name": {"type": "string"},
            "size": {"type": "integer", "minimum": 0, "description": "Bytes of the note."},
            "text": {"type": "string", "description": "Control characters other than tabs and line ends, and what reorders text or cannot be seen, are written as \\u{..}."},
            "truncated": {"type": "boolean", "description": "Whether the note goes on after the text."},
            "bytes_left": {"type": "integer", "minimum": 0, "description": "Bytes of the note that the text does not show."},
            "lossy": {"type": "boolean", "description": "Whether bytes that are no UTF-8 stand as U+FFFD in the text."},
        })),
        "annotations": reads(),
    })
}

fn call(site: &Site, arguments: &Map<String, Value>, _: &Call) -> Result<Value, Refusal> {
    let arguments = Arguments::new(arguments, &["name"])?;
    let name = arguments.text("name", NAME_CHARS)?;
    check(name)?;
    let file = open(site, name)?;
    let unreadable = |error| Refusal::io("cannot read the note", error, ASK_A_PERSON);
    let metadata = file.metadata().map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(not_a_file(name));
    }
    let most = READ_BYTES.min(metadata.len());
    let mut bytes = Vec::with_capacity(most as usize);
    file.take(most).read_to_end(&mut bytes).map_err(unreadable)?;
    let shown = show(&bytes, Room::Bytes(NOTE_BYTES), LineEnds::Kept);
    let left = metadata.len().saturating_sub(shown.bytes as u64);
    Ok(record([
        ("name", name.into()),
        ("size", metadata.len().into()),
        ("text", shown.text.into()),
        ("truncated", (left > 0).into()),
        ("bytes_left", left.into()),
        ("lossy", shown.lossy.into()),
    ]))
}

/// Refuses what cannot name a note before anything is opened.
fn check(name: &str) -> Result<(), Refusal> {
    if name.starts_with('/') {
        return Err(outside(&format!(
            "{name:?} begins with `/`; give the note's path from app/data/notes on"
        )));
    }
    if name.split('/').any(|part| part == "..") {
        return Err(outside(&format!(
            "{name:?} has a `..`, which is not followed, wherever it leads; give the note's path from app/data/notes on without it"
        )));
    }
    let odd =
        name.contains(['\0', '\\']) || name.split('/').any(|part| part.is_empty() || part == ".");
    if odd {
        return Err(Refusal::invalid(
            "`name` is a plain relative path such as work/plan.md: no empty part, no `.`, no backslash and no NUL",
        ));
    }
    Ok(())
}

/// The kernel refuses each absolute link, also one that leads back into the notes. For those the path is resolved here and
/// opened again, beneath the notes as before: what the resolution says is never trusted.
fn open(site: &Site, name: &str) -> Result<File, Refusal> {
    let notes = site.notes().map_err(|error| no_notes(&error))?;
    let opened = match open_beneath(&notes, Path::new(name), site.containment()) {
        Err(error) if is_escape(&error) => match links::resolve(&notes, &site.notes_path(), name) {
            Ok(Some(path)) => open_beneath(&notes, &path, site.containment()),
            Ok(None) => Err(error),
            Err(error) => Err(error),
        },
        opened => opened,
    };
    opened.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound if links::is_dangling(&notes, &site.notes_path(), name) => {
            not_found(&format!("{name:?} is or goes through a link to something that is not there"))
        }
        _ => refusal(name, &error),
    })
}

/// Why the folder of the notes could not be opened.
fn no_notes(error: &io::Error) -> Refusal {
    match error.kind() {
        // An open of a link as a folder answers so on Linux, as one of a file does.
        io::ErrorKind::NotADirectory => no_folder(),
        _ if is_link(error) => no_folder(),
        io::ErrorKind::NotFound => Refusal::new(
            Code::NoteNotFound,
            "there is no folder app/data/notes; that is no empty one: find out whether the application runs, and where it keeps its notes",
        ),
        kind => Refusal::io("cannot open app/data/notes", kind, ASK_A_PERSON),
    }
}

fn no_folder() -> Refusal {
    outside(
        "app/data/notes or a folder on the way to it is no folder, or a link that leads out of the root or came after the server's start, \
         which is not followed; let a person look at it",
    )
}

fn refusal(name: &str, error: &io::Error) -> Refusal {
    let none = format!("there is no note {name:?} in app/data/notes");
    match error.kind() {
        _ if is_escape(error) => outside(&format!(
            "{name:?} leads out of app/data/notes through a link; only what lies in there is read"
        )),
        _ if is_special(error) => not_a_file(name),
        _ if is_link(error) => not_found(&format!(
            "{name:?} is or goes through more links than are followed, as in a circle"
        )),
        _ if is_no_name(error) => not_found(&none),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => not_found(&none),
        kind => Refusal::io(&format!("cannot open the note {name:?}"), kind, ASK_A_PERSON),
    }
}

fn outside(why: &str) -> Refusal {
    Refusal::new(Code::OutsideNotes, why)
}

fn not_found(what: &str) -> Refusal {
    Refusal::new(Code::NoteNotFound, format!("{what}; look for its name in the log"))
}

fn not_a_file(name: &str) -> Refusal {
    Refusal::new(
        Code::NotAFile,
        format!("{name:?} is no regular file; give the path of a note, not of a folder or a pipe"),
    )
}

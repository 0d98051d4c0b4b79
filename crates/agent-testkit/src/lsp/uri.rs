//! Paths and `file:` URIs, in the spellings that servers use.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

/// How the toy server spells the URI of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spelling {
    /// An opened document as its client spelled it; else as [`uri_of`] does.
    #[default]
    Client,
    /// `[ ] + & , ; = @` stay as they are, which is not the client's spelling.
    Lenient,
    /// Nothing is escaped, `#` and `%` neither: such a URI names another file.
    Raw,
}

const UNRESERVED: &str = "-._~/";
const LENIENT: &str = "-._~/[]+&,;=@:";

impl Spelling {
    pub(crate) fn spell(self, path: &Path) -> String {
        match self {
            Self::Client => escaped(path, UNRESERVED),
            Self::Lenient => escaped(path, LENIENT),
            Self::Raw => format!("file://{}", path.display()),
        }
    }
}

/// The URI of an absolute path, with everything escaped but letters, digits and `- . _ ~ /`.
#[must_use]
pub fn uri_of(path: &Path) -> String {
    Spelling::Client.spell(path)
}

/// The path that a URI names. What is no `file:` URI is kept as it is, so that it can be a key.
#[must_use]
pub fn path_of(uri: &str) -> PathBuf {
    let Some(path) = uri.strip_prefix("file://") else { return PathBuf::from(uri) };
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [first, tail @ ..] = rest {
        let digits = tail.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        let code = digits.and_then(|two| u8::from_str_radix(two, 16).ok());
        match code {
            Some(code) if *first == b'%' => {
                bytes.push(code);
                rest = &tail[2..];
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    PathBuf::from(String::from_utf8_lossy(&bytes).into_owned())
}

fn escaped(path: &Path, kept: &str) -> String {
    let mut uri = String::from("file://");
    for byte in path.to_string_lossy().bytes() {
        if byte.is_ascii_alphanumeric() || kept.as_bytes().contains(&byte) {
            uri.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}

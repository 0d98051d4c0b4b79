//! `write`: a file as a whole.

use agent_edits::{Plan, with_newlines};
use agent_tool_core::{ErrorKind, Stop, ToolError};
use agent_workspace::{Encoding, FileContent, LineEnding, Text};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{Change, Files, error};

/// The largest content, in bytes: 16 MiB.
pub const MAX_CONTENT_BYTES: usize = 16 * 1024 * 1024;

/// What to write.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct WriteArgs {
    /// The file.
    pub path: String,
    /// All of its text.
    pub content: String,
}

impl WriteArgs {
    /// A file with this content.
    #[must_use]
    pub fn new(path: impl Into<String>, content: impl Into<String>) -> Self {
        Self { path: path.into(), content: content.into() }
    }
}

impl Files {
    /// Plans to create a file with the folders that it needs, or to replace what stands in it.
    ///
    /// The content is written as it is, in UTF-8. Of an existing file two things stay: its
    /// byte-order mark, with the encoding that it stands for, and CRLF, where all its lines end so
    /// and the content has none.
    ///
    /// # Errors
    ///
    /// `too_large`, and those of the workspace and of [`Plan`].
    pub fn plan_write(&self, args: &WriteArgs, _stop: &Stop) -> Result<Change, ToolError> {
        if args.content.len() > MAX_CONTENT_BYTES {
            return Err(ToolError::new(
                ErrorKind::InvalidArgs,
                "too_large",
                format!(
                    "the content has {} bytes and at most {MAX_CONTENT_BYTES} are written; write less",
                    args.content.len()
                ),
            ));
        }
        let path = self.resolve(&args.path)?;
        let mut plan = Plan::new(&self.workspace);
        let mut notes = Vec::new();
        match self.workspace.read(&path) {
            Ok(before) => {
                let after = in_style_of(&before, &args.content, &mut notes)?;
                plan.modify(&path, before, after).map_err(error::of_edits)?;
            }
            Err(missing) if missing.kind() == agent_workspace::ErrorKind::NotFound => {
                let content = args.content.clone().into_bytes();
                plan.create(&path, content).map_err(error::of_edits)?;
            }
            Err(other) => return Err(error::of_workspace(other)),
        }
        Ok(Change::new(plan, notes))
    }
}

fn in_style_of(
    before: &FileContent,
    content: &str,
    notes: &mut Vec<String>,
) -> Result<Vec<u8>, ToolError> {
    let info = Text::decode(&before.bytes).info;
    let mut content = content.to_owned();
    if info.line_ending == LineEnding::CrLf && content.contains('\n') && !content.contains('\r') {
        content = with_newlines(&content, info.newline);
        notes.push("the lines end with CRLF, as before".to_owned());
    }
    let marked = content.starts_with('\u{feff}');
    match info.encoding {
        Encoding::Utf8Bom | Encoding::Utf16Le | Encoding::Utf16Be if !marked && !info.binary => {
            notes.push(match info.encoding {
                Encoding::Utf8Bom => "the byte-order mark was kept".to_owned(),
                _ => "the encoding is UTF-16, as before".to_owned(),
            });
            info.encoding.encode(&content).map_err(error::of_workspace)
        }
        Encoding::Latin1 if !info.binary => {
            notes.push("the file was not UTF-8 and is now".to_owned());
            Ok(content.into_bytes())
        }
        _ => Ok(content.into_bytes()),
    }
}

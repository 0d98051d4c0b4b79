//! Places in source files: how they are shown, what stands there, whose they are.

use std::path::{Path, PathBuf};

use agent_tool_core::clip;
use agent_workspace::{Text, Workspace};
use serde::Serialize;

use crate::protocol::Frame;

/// The most characters of a function's name.
pub(crate) const MAX_FUNCTION_CHARS: usize = 200;

/// The most characters of a line that is shown.
const MAX_LINE_CHARS: usize = 200;

/// Folders of other people's code inside a checkout.
const OTHERS: [&str; 6] = [".venv", "venv", "site-packages", "node_modules", "vendor", "target"];

/// The most hexadecimal digits that Rust appends to a function's name.
const HASH_DIGITS: usize = 16;

/// A frame as it is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FrameShown {
    /// The id for `scopes` and `evaluate`, until the debuggee moves on.
    pub id: i64,
    /// The function.
    pub function: String,
    /// The path: relative inside the workspace, as the debugger has it elsewhere.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<u32>,
    /// Whether the file is one of the workspace's own.
    pub user: bool,
    /// What stands on the line, for the frame that a stop is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// The places of one workspace.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    workspace: Workspace,
}

impl Places {
    pub(crate) fn new(workspace: Workspace) -> Self {
        Self { workspace }
    }

    /// The frame under an id of ours.
    pub(crate) fn frame(&self, frame: &Frame, id: i64) -> FrameShown {
        let path = frame.source.path.as_deref().map(Path::new);
        let file = match path {
            Some(path) => Some(self.show(path)),
            None => frame.source.name.clone(),
        };
        FrameShown {
            id,
            function: clip(without_hash(&frame.name), MAX_FUNCTION_CHARS).text,
            file,
            line: frame.line,
            user: path.is_some_and(|path| self.is_users(path)),
            text: None,
        }
    }

    /// Adds what stands on the line, where the file is one of the workspace.
    pub(crate) fn with_text(&self, mut shown: FrameShown) -> FrameShown {
        let line = shown.file.as_deref().zip(shown.line);
        shown.text = line.and_then(|(file, line)| self.line(file, line));
        shown
    }

    /// A path as the workspace shows it, or as it is.
    pub(crate) fn show(&self, path: &Path) -> String {
        match self.workspace.contain(path) {
            Some(inside) => self.workspace.show(&inside),
            None => path.to_string_lossy().into_owned(),
        }
    }

    /// Whether a file is one of the workspace's own, and not one of its dependencies.
    fn is_users(&self, path: &Path) -> bool {
        let Some(inside) = self.workspace.contain(path) else { return false };
        let shown = PathBuf::from(self.workspace.show(&inside));
        let others = |part: std::path::Component<'_>| {
            OTHERS.iter().any(|name| part.as_os_str() == std::ffi::OsStr::new(name))
        };
        !shown.components().any(others) && path.is_file()
    }

    fn line(&self, file: &str, line: u32) -> Option<String> {
        let path = self.workspace.resolve(file).ok()?;
        let text = Text::decode(&self.workspace.read(&path).ok()?.bytes);
        let line = text.content.lines().nth(usize::try_from(line).ok()?.checked_sub(1)?)?;
        Some(clip(line.trim(), MAX_LINE_CHARS).text)
    }
}

impl FrameShown {
    /// `src/main.rs:44`, or what is known of it.
    #[must_use]
    pub fn place(&self) -> String {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => format!("{file}:{line}"),
            (Some(file), None) => file.clone(),
            _ => "no source".to_owned(),
        }
    }
}

/// A Rust function without the hash at its end.
fn without_hash(name: &str) -> &str {
    match name.rsplit_once("::h") {
        Some((rest, hash))
            if hash.len() == HASH_DIGITS && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) =>
        {
            rest
        }
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::without_hash;

    #[test]
    fn a_hash_is_no_part_of_a_name() {
        assert_eq!(without_hash("sample::basic::h0123456789abcdef"), "sample::basic");
        assert_eq!(without_hash("sample::hello"), "sample::hello");
    }
}

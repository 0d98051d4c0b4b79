//! `read`: a file as a person would look at it.

mod image;

use agent_tool_core::{ErrorKind, Part, Stop, ToolError, ToolOutput, clip, counted};
use agent_workspace::{Encoding, LineEnding, Text};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    Files, artifacts, error,
    lines::{Line, lines},
};

pub use image::MAX_IMAGE_BYTES;

/// So many lines are shown unless the call says otherwise.
pub const DEFAULT_LINES: usize = 2_000;

/// A longer line is cut, in characters.
pub const MAX_LINE: usize = 2_000;

/// So many characters are shown at once: a little less than the budget that a run has for a
/// result, so that the cut falls between two lines.
pub const MAX_SHOWN: usize = 30_000;

/// What to read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ReadArgs {
    /// The file, or `artifact:NAME` as a cut result gave it.
    pub path: String,
    /// First line, from 1.
    #[serde(default)]
    pub offset: Option<usize>,
    /// Number of lines, 2000 if absent.
    #[serde(default)]
    pub limit: Option<usize>,
}

impl ReadArgs {
    /// A file from its start.
    #[must_use]
    pub fn new(path: impl Into<String>) -> Self {
        Self { path: path.into(), offset: None, limit: None }
    }
}

/// What was read of a text file, or a picture.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum ReadOutcome {
    /// Some lines of a text.
    Lines(ReadLines),
    /// A picture as a whole.
    #[non_exhaustive]
    Image {
        /// The path as the workspace shows it.
        path: String,
        /// The media type.
        mime: &'static str,
        /// The size of the file.
        bytes: usize,
        /// The bytes in base64.
        #[serde(skip)]
        base64: String,
    },
}

/// Some lines of a text file.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ReadLines {
    /// The path as the workspace shows it.
    pub path: String,
    /// The first line shown, from 1.
    pub first_line: usize,
    /// The last line shown; one less than the first where there is none.
    pub last_line: usize,
    /// How many lines the file has.
    pub total_lines: usize,
    /// Whether lines, or parts of lines, are missing.
    pub truncated: bool,
    /// How the bytes were read.
    pub encoding: Encoding,
    /// How the lines end.
    pub line_ending: LineEnding,
    /// The numbered lines, and remarks in parentheses after them.
    #[serde(skip)]
    pub text: String,
}

impl Files {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// `invalid_args`, `offset_past_end`, `binary_file`, `too_large`, `unknown_artifact`,
    /// `invalid_artifact`, and those of [`agent_workspace::Workspace::read`].
    pub fn read(&self, args: &ReadArgs, stop: &Stop) -> Result<ReadOutcome, ToolError> {
        if let Some((folder, name)) = self.artifact(&args.path) {
            let text = Text::decode(&artifacts::read(folder, name)?);
            return view(args.path.clone(), &text, args, LongLines::Folded).map(ReadOutcome::Lines);
        }
        let path = self.resolve(&args.path)?;
        let shown = self.workspace.show(&path);
        let bytes = self.content(&path, stop)?.bytes;
        if let Some(mime) = image::mime(&bytes) {
            let base64 = image::base64(&shown, &bytes)?;
            return Ok(ReadOutcome::Image { path: shown, mime, bytes: bytes.len(), base64 });
        }
        let text = Text::decode(&bytes);
        if text.info.binary {
            return Err(error::binary(&shown, bytes.len()));
        }
        view(shown, &text, args, LongLines::Cut).map(ReadOutcome::Lines)
    }
}

/// The outcome as a tool's output.
pub(crate) fn output(outcome: ReadOutcome) -> ToolOutput {
    let data = json!(outcome);
    match outcome {
        ReadOutcome::Lines(lines) => ToolOutput::text(lines.text).with_data(data),
        ReadOutcome::Image { path, mime, bytes, base64 } => {
            ToolOutput::text(format!("`{path}` is a picture ({mime}, {bytes} bytes)"))
                .with_part(Part::image(mime, base64))
                .with_data(data)
        }
    }
}

/// What becomes of a line that is longer than [`MAX_LINE`].
#[derive(Clone, Copy, PartialEq, Eq)]
enum LongLines {
    /// Its rest is not shown.
    Cut,
    /// Its rest is further lines: nothing else shows a part of an artifact.
    Folded,
}

fn view(
    path: String,
    text: &Text,
    args: &ReadArgs,
    long: LongLines,
) -> Result<ReadLines, ToolError> {
    let mut all = lines(&text.content, text.info.line_ending);
    let unfolded = all.len();
    if long == LongLines::Folded {
        all = all.into_iter().flat_map(folded).collect();
    }
    let is_folded = all.len() > unfolded;
    let total = all.len();
    let first = args.offset.unwrap_or(1);
    let limit = args.limit.unwrap_or(DEFAULT_LINES);
    for (name, value) in [("offset", first), ("limit", limit)] {
        if value == 0 {
            return Err(ToolError::invalid_args(format!(
                "read: `{name}` came as 0 but takes a whole number from 1 up"
            )));
        }
    }
    if first > total.max(1) {
        return Err(ToolError::new(
            ErrorKind::InvalidArgs,
            "offset_past_end",
            format!(
                "`{path}` has {}, so none at offset {first}; take a smaller offset",
                counted(total, "line")
            ),
        )
        .with_data(json!({ "total_lines": total })));
    }
    let mut out = String::new();
    let mut used = 0;
    let mut cut_lines = 0;
    let mut last = first - 1;
    for line in all.iter().skip(first - 1).take(limit) {
        let clipped = clip(line.text, MAX_LINE);
        let numbered = format!("{}\t{}\n", last + 1, clipped.text);
        used += numbered.chars().count();
        if used > MAX_SHOWN && last >= first {
            break;
        }
        cut_lines += usize::from(clipped.cut > 0);
        last += 1;
        out.push_str(&numbered);
    }
    let mut lines = ReadLines {
        path,
        first_line: first,
        last_line: last,
        total_lines: total,
        truncated: first > 1 || last < total || cut_lines > 0,
        encoding: text.info.encoding,
        line_ending: text.info.line_ending,
        text: String::new(),
    };
    if is_folded {
        out.push_str(&format!("(lines longer than {MAX_LINE} characters are folded)\n"));
    }
    for remark in remarks(&lines, text, cut_lines) {
        out.push_str(&format!("({remark})\n"));
    }
    out.pop();
    lines.text = out;
    Ok(lines)
}

/// The pieces of a line, each of which is shown whole.
fn folded(line: Line<'_>) -> Vec<Line<'_>> {
    let mut pieces = Vec::new();
    let mut rest = line;
    while let Some((at, _)) = rest.text.char_indices().nth(MAX_LINE) {
        let (piece, after) = rest.text.split_at(at);
        pieces.push(Line { text: piece, end: "" });
        rest.text = after;
    }
    pieces.push(rest);
    pieces
}

fn remarks(view: &ReadLines, text: &Text, cut_lines: usize) -> Vec<String> {
    let mut remarks = Vec::new();
    let ReadLines { first_line, last_line, total_lines, .. } = *view;
    if total_lines == 0 {
        remarks.push(format!("`{}` is empty", view.path));
    } else if last_line < total_lines {
        remarks.push(format!(
            "lines {first_line}-{last_line} of {total_lines}; read on with offset {}",
            last_line + 1
        ));
    } else if first_line > 1 {
        remarks.push(format!("lines {first_line}-{last_line} of {total_lines}"));
    }
    match cut_lines {
        0 => {}
        1 => remarks
            .push(format!("1 line was cut at {MAX_LINE} characters; search shows parts of it")),
        cut => {
            remarks.push(format!(
                "{cut} lines were cut at {MAX_LINE} characters; search shows parts of them"
            ));
        }
    }
    match text.info.encoding {
        Encoding::Latin1 => remarks.push("not UTF-8; shown as Latin-1".to_owned()),
        Encoding::Utf16Le | Encoding::Utf16Be => remarks.push("UTF-16".to_owned()),
        _ => {}
    }
    match text.info.line_ending {
        LineEnding::CrLf => remarks.push("lines end with CRLF".to_owned()),
        LineEnding::Cr => remarks.push("lines end with CR".to_owned()),
        LineEnding::Mixed => remarks.push("line endings are mixed".to_owned()),
        _ => {}
    }
    if total_lines > 0 && last_line == total_lines && !text.info.final_newline {
        remarks.push("no newline at the end".to_owned());
    }
    remarks
}

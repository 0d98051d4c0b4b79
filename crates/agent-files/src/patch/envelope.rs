//! The `*** Begin Patch` format, as the Codex command line defines it.

use agent_tool_core::ToolError;

use super::{Action, FilePatch, Hunk, Mark, Patch, Source};

pub(super) const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const ADD: &str = "*** Add File:";
const DELETE: &str = "*** Delete File:";
const UPDATE: &str = "*** Update File:";
const MOVE: &str = "*** Move to:";
const END_OF_FILE: &str = "*** End of File";

pub(super) fn parse(source: &mut Source<'_>) -> Result<Patch, ToolError> {
    source.advance();
    let mut files = Vec::new();
    loop {
        let Some(line) = source.peek_text() else {
            return Err(source.invalid(
                "`*** End Patch` is missing, so the patch may be cut off; send all of it",
            ));
        };
        if line.trim_end() == END {
            source.advance();
            break;
        }
        files.push(file(source, line)?);
    }
    match source.peek_text() {
        Some(_) => {
            Err(source.invalid("something follows `*** End Patch`; send it as another patch"))
        }
        None => Ok(Patch { files }),
    }
}

fn file(source: &mut Source<'_>, line: &str) -> Result<FilePatch, ToolError> {
    let (action, path) = if let Some(path) = line.strip_prefix(ADD) {
        (Action::Create, path)
    } else if let Some(path) = line.strip_prefix(DELETE) {
        (Action::Delete, path)
    } else if let Some(path) = line.strip_prefix(UPDATE) {
        (Action::Update, path)
    } else {
        return Err(source.invalid(
            "here a file must begin: `*** Add File: PATH`, `*** Update File: PATH` or `*** Delete \
             File: PATH`",
        ));
    };
    let path = named(source, path)?;
    source.advance();
    match action {
        Action::Create => {
            let hunk = added(source)?;
            Ok(FilePatch { path, action, hunks: vec![vec![hunk]], executable: None })
        }
        Action::Update => update(source, path),
        _ => Ok(FilePatch { path, action, hunks: Vec::new(), executable: None }),
    }
}

fn named(source: &Source<'_>, path: &str) -> Result<String, ToolError> {
    match path.trim() {
        "" => Err(source.invalid("the path is missing; write it after the colon")),
        path => Ok(path.to_owned()),
    }
}

fn added(source: &mut Source<'_>) -> Result<Hunk, ToolError> {
    let mut hunk = Hunk::default();
    while let Some(line) = source.peek() {
        if let Some(text) = line.strip_prefix('+') {
            let line = source.hunk_line(Mark::Add, text);
            hunk.lines.push(line);
        } else if line.starts_with("***") || line.trim().is_empty() {
            break;
        } else {
            return Err(source.invalid("each line of a new file begins with `+`"));
        }
    }
    Ok(hunk)
}

fn update(source: &mut Source<'_>, path: String) -> Result<FilePatch, ToolError> {
    let mut action = Action::Update;
    if let Some(to) = source.peek().and_then(|line| line.strip_prefix(MOVE)) {
        action = Action::Rename(named(source, to)?);
        source.advance();
    }
    let mut hunks = Vec::new();
    while let Some(hunk) = hunk(source)? {
        hunks.push(hunk);
    }
    if hunks.is_empty() && action == Action::Update {
        return Err(source.invalid(&format!(
            "the update of `{path}` has no lines; write those that stay, go and are new"
        )));
    }
    Ok(FilePatch { path, action, hunks: vec![hunks], executable: None })
}

fn hunk(source: &mut Source<'_>) -> Result<Option<Hunk>, ToolError> {
    let mut hunk = Hunk::default();
    let mut blank = 0;
    while let Some(line) = source.peek() {
        if hunk.lines.is_empty()
            && let Some(header) = line.strip_prefix("@@")
        {
            super::unified::take_header(&mut hunk, header);
            source.advance();
            continue;
        }
        let mark = match line.as_bytes().first() {
            None => {
                blank += 1;
                let line = source.hunk_line(Mark::Context, "");
                hunk.lines.push(line);
                continue;
            }
            Some(b' ') => Mark::Context,
            Some(b'-') => Mark::Remove,
            Some(b'+') => Mark::Add,
            Some(b'\\') => {
                if let Some(last) = hunk.lines.last_mut() {
                    last.no_newline = true;
                }
                source.advance();
                continue;
            }
            _ if line.trim_end() == END_OF_FILE => {
                drop_blank(&mut hunk, blank);
                hunk.at_end = true;
                source.advance();
                return Ok(Some(hunk));
            }
            _ if line.starts_with("@@") || line.starts_with("***") => break,
            _ => {
                return Err(source.invalid(
                    "a line of a hunk begins with a space (it stays), `-` (it goes) or `+` (it is new)",
                ));
            }
        };
        blank = 0;
        let line = source.hunk_line(mark, &line[1..]);
        hunk.lines.push(line);
    }
    drop_blank(&mut hunk, blank);
    let nothing = hunk.lines.is_empty();
    if nothing && !hunk.headers.is_empty() {
        return Err(source
            .invalid("a hunk has a header and no lines; write those that stay, go and are new"));
    }
    Ok((!nothing).then_some(hunk))
}

/// Empty lines between the parts of a patch are air, not context.
fn drop_blank(hunk: &mut Hunk, blank: usize) {
    let kept = hunk.lines.len() - blank;
    hunk.lines.truncate(kept);
}

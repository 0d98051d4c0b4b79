//! Unified diffs, as POSIX `diff -u` and git write them.

use agent_edits::Executable;
use agent_tool_core::ToolError;

use super::{
    Action, FilePatch, Hunk, Mark, Patch, Source,
    path::{NO_FILE, of_git_line, of_header, without_prefixes},
};

pub(super) fn parse(source: &mut Source<'_>) -> Result<Patch, ToolError> {
    let mut patch = Patch { files: Vec::new() };
    while let Some(line) = source.peek() {
        if line.starts_with("diff --git ") || is_header(source) {
            let file = file(source)?;
            patch.files.push(file);
        } else if line.starts_with("@@") {
            return Err(source.invalid(
                "a hunk stands before any file; write `--- PATH` and `+++ PATH` above it",
            ));
        } else if patch.files.is_empty() || line.trim().is_empty() || is_air(line) {
            // What precedes a diff is a commit's message, or a line such as `Index: PATH`.
            source.advance();
        } else {
            return Err(source
                .invalid("this line belongs to no hunk; begin a line that stays with a space"));
        }
    }
    Ok(patch)
}

/// Reads what follows the `@@` of a hunk: numbers, or the line that the hunk stands below.
pub(super) fn take_header(hunk: &mut Hunk, header: &str) -> Option<(usize, usize)> {
    let counts = numbers(header);
    if let Some((start, counts)) = counts {
        hunk.old_start = Some(start);
        return Some(counts);
    }
    let header = header.trim().trim_end_matches("@@").trim_end();
    if !header.is_empty() && header != "..." {
        hunk.headers.push(header.to_owned());
    }
    None
}

/// Lines that tools write between the parts of a diff.
fn is_air(line: &str) -> bool {
    ["diff ", "Index: ", "====", "Only in ", "-- "].iter().any(|start| line.starts_with(start))
        || line == "--"
        || line.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

fn is_header(source: &Source<'_>) -> bool {
    source.peek().is_some_and(|line| line.starts_with("--- "))
        && source.ahead(1).is_some_and(|line| line.starts_with("+++ "))
}

/// What the extended header of git says.
#[derive(Default)]
struct Extended {
    paths: Option<(String, String)>,
    from: Option<String>,
    to: Option<String>,
    created: bool,
    deleted: bool,
    executable: Option<Executable>,
}

fn file(source: &mut Source<'_>) -> Result<FilePatch, ToolError> {
    let extended = extended(source)?;
    let mut paths = extended.paths.clone();
    if is_header(source) {
        let of = |line: Option<&str>| of_header(&line.unwrap_or_default()[4..]);
        paths = Some((of(source.peek()), of(source.ahead(1))));
        source.advance();
        source.advance();
    }
    let Some((old, new)) = paths else {
        return Err(source.invalid("the diff names no file; write `--- PATH` and `+++ PATH`"));
    };
    let (old, new) = without_prefixes(&old, &new);
    let hunks = hunks(source)?;
    let no_hunks = hunks.is_empty();
    let (path, action) = if let (Some(from), Some(to)) = (extended.from, extended.to) {
        (from, Action::Rename(to))
    } else if old == NO_FILE || extended.created {
        (new, Action::Create)
    } else if new == NO_FILE || extended.deleted {
        (old, Action::Delete)
    } else if old == new {
        (new, Action::Update)
    } else {
        return Err(source.invalid(&format!(
            "`{old}` becomes `{new}` without `rename from` and `rename to`, so it is not clear \
             which of both is meant; write those lines, or one name"
        )));
    };
    if path == NO_FILE {
        return Err(source.invalid("the diff names no file; write `--- PATH` and `+++ PATH`"));
    }
    let executable = extended.executable;
    if no_hunks && action == Action::Update && executable.is_none() {
        return Err(source.invalid(&format!(
            "the diff of `{path}` has no hunk; write `@@` and the changed lines"
        )));
    }
    let hunks = if no_hunks { Vec::new() } else { vec![hunks] };
    Ok(FilePatch { path, action, hunks, executable })
}

fn extended(source: &mut Source<'_>) -> Result<Extended, ToolError> {
    let mut found = Extended::default();
    if let Some(paths) = source.peek().and_then(|line| line.strip_prefix("diff --git ")) {
        found.paths = of_git_line(paths);
        source.advance();
    }
    while let Some(line) = source.peek() {
        if let Some(from) = line.strip_prefix("rename from ") {
            found.from = Some(of_header(from));
        } else if let Some(to) = line.strip_prefix("rename to ") {
            found.to = Some(of_header(to));
        } else if let Some(mode) = line.strip_prefix("new file mode ") {
            found.created = true;
            refuse_special(source, mode)?;
            found.executable = Some(executable(mode));
        } else if let Some(mode) = line.strip_prefix("deleted file mode ") {
            found.deleted = true;
            refuse_special(source, mode)?;
        } else if let Some(mode) = line.strip_prefix("new mode ") {
            refuse_special(source, mode)?;
            found.executable = Some(executable(mode));
        } else if line.starts_with("copy from ") || line.starts_with("copy to ") {
            return Err(source.unsupported("a copy is not made here; add the file with its lines"));
        } else if line.starts_with("GIT binary patch") || line.starts_with("Binary files ") {
            return Err(source.unsupported("binary data is not patched here"));
        } else if !["index ", "old mode ", "similarity index ", "dissimilarity index "]
            .iter()
            .any(|start| line.starts_with(start))
        {
            break;
        }
        source.advance();
    }
    Ok(found)
}

/// Git keeps of the permission bits only whether the owner may execute the file.
fn executable(mode: &str) -> Executable {
    const OWNER_EXECUTES: u32 = 0o100;
    match u32::from_str_radix(mode, 8) {
        Ok(mode) if mode & OWNER_EXECUTES != 0 => Executable::Yes,
        _ => Executable::No,
    }
}

fn refuse_special(source: &Source<'_>, mode: &str) -> Result<(), ToolError> {
    if mode.starts_with("100") {
        return Ok(());
    }
    Err(source.unsupported("a link or a submodule is not patched here"))
}

fn hunks(source: &mut Source<'_>) -> Result<Vec<Hunk>, ToolError> {
    let mut hunks = Vec::new();
    while source.peek().is_some_and(|line| line.starts_with("@@")) {
        let mut hunk = Hunk::default();
        let mut counts = None;
        while let Some(header) = source.peek().and_then(|line| line.strip_prefix("@@")) {
            counts = take_header(&mut hunk, header);
            source.advance();
            if counts.is_some() {
                break;
            }
        }
        let missing = body(source, &mut hunk, counts);
        if missing > 0 && source.peek_text().is_none() {
            return Err(source.invalid(&format!(
                "the last hunk has fewer lines than its header says, {missing} or more are missing, so the patch may be cut \
                 off; send all of it, or write `@@` without numbers"
            )));
        }
        if hunk.lines.is_empty() {
            return Err(
                source.invalid("the hunk has no lines; write those that stay, go and are new")
            );
        }
        hunks.push(hunk);
    }
    Ok(hunks)
}

/// Takes the lines of a hunk. The counts decide while they last; models count badly, so what looks
/// like a line of a hunk is taken beyond them too, and where it is placed is decided by its context.
/// Gives back how many lines that were counted did not come, at least.
fn body(source: &mut Source<'_>, hunk: &mut Hunk, counts: Option<(usize, usize)>) -> usize {
    let (mut old, mut new) = counts.unwrap_or_default();
    let mut blank = 0;
    while let Some(line) = source.peek() {
        let counted = old > 0 || new > 0;
        // Removing `-- x` and adding `++ y` looks like a header; the counts tell where it is none.
        let next_file = is_header(source) && source.ahead(2).is_some_and(|l| l.starts_with("@@"));
        if next_file && !(old == 1 && new == 1) {
            break;
        }
        let mark = match line.as_bytes().first() {
            None | Some(b' ') => Mark::Context,
            Some(b'-') if counted || !is_signature(line) => Mark::Remove,
            Some(b'+') => Mark::Add,
            Some(b'\\') => {
                if let Some(last) = hunk.lines.last_mut() {
                    last.no_newline = true;
                }
                source.advance();
                continue;
            }
            _ => break,
        };
        if mark != Mark::Add {
            old = old.saturating_sub(1);
        }
        if mark != Mark::Remove {
            new = new.saturating_sub(1);
        }
        blank = if line.is_empty() && !counted { blank + 1 } else { 0 };
        let line = source.hunk_line(mark, line.get(1..).unwrap_or_default());
        hunk.lines.push(line);
    }
    let kept = hunk.lines.len() - blank;
    hunk.lines.truncate(kept);
    old.max(new)
}

/// `git format-patch` ends with `-- ` and its version.
fn is_signature(line: &str) -> bool {
    line == "-- " || line == "--"
}

/// ` -1,2 +3,4 @@ heading`: the old start and both counts.
fn numbers(header: &str) -> Option<(usize, (usize, usize))> {
    let header = header.trim_start().strip_prefix('-')?;
    let (old, rest) = header.split_once(" +")?;
    let (new, _) = rest.split_once(" @@").or_else(|| rest.strip_suffix("@@").map(|n| (n, "")))?;
    let pair = |text: &str| -> Option<(usize, usize)> {
        match text.trim().split_once(',') {
            Some((start, count)) => Some((start.parse().ok()?, count.parse().ok()?)),
            None => Some((text.trim().parse().ok()?, 1)),
        }
    };
    let (start, old) = pair(old)?;
    Some((start, (old, pair(new)?.1)))
}

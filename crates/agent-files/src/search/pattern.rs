//! From a model's regular expression to a matcher, or to a hint.

use agent_tool_core::{ErrorKind, ToolError};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};

use super::SearchArgs;

/// The longest pattern, in bytes.
pub const MAX_PATTERN: usize = 8 * 1024;

/// The most memory that a compiled pattern may take, in bytes: what bounds `(a{1000}){1000}`.
/// Matching takes linear time whatever the pattern.
pub const REGEX_SIZE_LIMIT: usize = 4 * 1024 * 1024;

/// How deep groups may nest.
const NEST_LIMIT: u32 = 100;

pub(super) fn compile(pattern: &str, args: &SearchArgs) -> Result<RegexMatcher, ToolError> {
    if pattern.len() > MAX_PATTERN {
        return Err(invalid(&format!(
            "the pattern has {} bytes and at most {MAX_PATTERN} are taken; search for a part of it",
            pattern.len()
        )));
    }
    let mut builder = RegexMatcherBuilder::new();
    builder
        .case_insensitive(args.case_insensitive == Some(true))
        .multi_line(true)
        .crlf(true)
        .size_limit(REGEX_SIZE_LIMIT)
        .dfa_size_limit(REGEX_SIZE_LIMIT)
        .nest_limit(NEST_LIMIT);
    if args.multiline == Some(true) {
        builder.line_terminator(None);
    }
    builder.build(pattern).map_err(|error| {
        let said = error.to_string();
        let said = said.trim().lines().last().unwrap_or_default().trim_start_matches("error: ");
        invalid(&format!("`{pattern}` is no regular expression ({said}); {}", hint(pattern, said)))
            .with_source(error)
    })
}

fn invalid(message: &str) -> ToolError {
    ToolError::new(ErrorKind::InvalidArgs, "invalid_pattern", message)
}

fn hint(pattern: &str, said: &str) -> &'static str {
    if said.contains("look-around") || said.contains("backreference") {
        "there is neither look-around nor a backreference here; search for less, and read the lines"
    } else if said.contains("size limit") || said.contains("nest") {
        "write it with smaller repetitions"
    } else if said.contains("\\n") || said.contains("not allowed") {
        "to match over several lines set multiline"
    } else if pattern.starts_with(['*', '?']) {
        "`*` and `?` repeat what stands before them: write `.*`, or give file names as `glob`"
    } else {
        "put a `\\` before each of `. ^ $ * + ? ( ) [ ] { } | \\` that stands for itself"
    }
}

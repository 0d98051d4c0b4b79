//! What a person is shown before a bridged call.

use agent_tool_core::{Preview, ToolSpec, clip};
use serde_json::Value;

use crate::{
    memory::{Memory, handles_in},
    text::clean_line,
};

/// The most earlier results that one preview quotes.
const MAX_QUOTES: usize = 4;

/// So many characters of one are quoted.
const QUOTE_CHARS: usize = 4_000;

/// So many characters of a name or a value are shown in a sentence.
const NAME_CHARS: usize = 120;

/// The call with its arguments, whose program it goes to, and for each handle among the arguments the earlier result that gave it
/// out. What that result says is the server's own text, so each of its lines is marked as quoted.
pub(crate) fn of(
    spec: &ToolSpec,
    server: &str,
    own_name: &str,
    args: &Value,
    memory: &Memory,
) -> Preview {
    let mut preview = Preview::of_arguments(spec, args);
    let mut body = vec![
        std::mem::take(&mut preview.body),
        format!(
            "carried out by the MCP server {}, an external program, as its tool {}",
            clean_line(server, NAME_CHARS),
            clean_line(own_name, NAME_CHARS)
        ),
    ];
    let mut quoted = Vec::new();
    for (path, value) in handles_in(args) {
        let Some(earlier) = memory.held(&value) else { continue };
        let path = clean_line(&path, NAME_CHARS);
        let value = clean_line(&value, NAME_CHARS);
        let source = format!("{}'s result of call {}", earlier.tool, earlier.call_id);
        if quoted.contains(&earlier.call_id) {
            body.push(format!("`{path}`, {value}, is from {source} too"));
            continue;
        }
        if quoted.len() == MAX_QUOTES {
            body.push("more of the arguments are from earlier results".to_owned());
            break;
        }
        quoted.push(earlier.call_id.clone());
        let shown = clip(&earlier.text, QUOTE_CHARS);
        let kept = earlier.text.chars().count();
        let left_out = earlier.chars - (kept - shown.cut);
        let end =
            earlier.text.char_indices().nth(QUOTE_CHARS).map_or(earlier.text.len(), |(at, _)| at);
        let mut lines: Vec<String> =
            earlier.text[..end].lines().map(|line| format!("> {line}")).collect();
        if left_out > 0 {
            lines.push(format!("… {left_out} more characters"));
        }
        body.push(format!("`{path}`, {value}, is from {source}, which said\n{}", lines.join("\n")));
    }
    preview.body = body.join("\n\n");
    preview
}

//! What a person is shown before a bridged call.

use agent_tool_core::{CallId, Preview, ToolSpec, clip};
use serde_json::Value;

use crate::{
    memory::{Earlier, Kept, Memory, Sources, handles_in},
    text::{behind_margin, clean_line, quoted as in_quotes},
};

/// The most earlier results that one preview quotes.
const MAX_QUOTES: usize = 4;

/// So many characters of one are quoted.
const QUOTE_CHARS: usize = 4_000;

/// So many characters of a name or a value are shown in a sentence.
const NAME_CHARS: usize = 120;

/// So many characters of what it says beside its structure.
const WORDS_CHARS: usize = 1_000;

/// The call with its arguments, whose program it goes to, and for each handle among the arguments the earlier results that gave it
/// out. What they say is the server's own text, so each of its lines is marked as quoted.
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
            in_quotes(own_name, NAME_CHARS)
        ),
    ];
    preview.reason = Some(format!(
        "{} is a tool of the MCP server {}, an external program; what it changes is known to that program alone",
        spec.name,
        clean_line(server, NAME_CHARS)
    ));
    let mut quoted: Vec<&CallId> = Vec::new();
    let mut unknown = Vec::new();
    for (path, value) in handles_in(args) {
        let sources = memory.sources(&value);
        let path = clean_line(&path, NAME_CHARS);
        if sources.shown.is_empty() {
            unknown.push(format!("`{path}`"));
            continue;
        }
        if sources.shown.iter().all(|earlier| quoted.contains(&&earlier.call_id)) {
            let results: Vec<_> = sources.shown.iter().map(|earlier| result_of(earlier)).collect();
            let (value, results) = (clean_line(&value, NAME_CHARS), results.join(" and "));
            body.push(format!("`{path}`, {value}, is from {results} too"));
            continue;
        }
        if quoted.len() >= MAX_QUOTES {
            body.push("more of the arguments are from earlier results".to_owned());
            break;
        }
        body.push(source(&path, &value, &sources));
        quoted.extend(sources.shown.iter().map(|earlier| &earlier.call_id));
    }
    if memory.forgotten > 0 && !unknown.is_empty() {
        let paths = clip(&unknown.join(", "), NAME_CHARS).text;
        body.push(format!(
            "no result that is remembered gave out {paths}; {} of the server's earlier results are forgotten",
            memory.forgotten
        ));
    }
    preview.body = body.join("\n\n");
    preview
}

/// Where a value is from, with what was said there.
fn source(path: &str, value: &str, sources: &Sources<'_>) -> String {
    let shown_value = clean_line(value, NAME_CHARS);
    let mut said = match sources.shown.as_slice() {
        [one] => format!(
            "`{path}`, {shown_value}, is from {}, which {}",
            result_of(one),
            quote(one, value, QUOTE_CHARS)
        ),
        several => {
            let each = several.iter().map(|earlier| {
                let limit = QUOTE_CHARS / several.len();
                format!("{} {}", result_of(earlier), quote(earlier, value, limit))
            });
            format!(
                "`{path}`, {shown_value}, was given out by {} tools, and which of them is meant only the server knows\n\n{}",
                several.len() + sources.named.len(),
                each.collect::<Vec<_>>().join("\n\n")
            )
        }
    };
    if !sources.named.is_empty() {
        let results: Vec<_> = sources.named.iter().map(|earlier| result_of(earlier)).collect();
        said.push_str(&format!("\nit stands in {} too, which is not shown", results.join(", ")));
    }
    said
}

fn result_of(earlier: &Earlier) -> String {
    let failed = if earlier.failed { "failed " } else { "" };
    format!("{}'s {failed}result of call {}", earlier.tool, earlier.call_id)
}

/// What holds the value: the structure, and then what was said beside it, or the text alone.
fn quote(earlier: &Earlier, value: &str, limit: usize) -> String {
    let structure = earlier.structure.as_ref().filter(|_| earlier.has_in_structure(value));
    let Some(structure) = structure else {
        return format!("said\n{}", lines(&earlier.text, Some(value), limit));
    };
    let structure = format!("gave as structure\n{}", lines(structure, Some(value), limit));
    match earlier.text.chars {
        0 => structure,
        _ => {
            let words = lines(&earlier.text, None, limit.min(WORDS_CHARS));
            format!("{structure}\nand said, which may be something else\n{words}")
        }
    }
}

/// What was said, or its beginning, what stands around the value that is in it, and its end: what decides may stand in each.
fn lines(kept: &Kept, value: Option<&str>, limit: usize) -> String {
    let quoted = behind_margin;
    let Some((beginning, end)) = kept.ends(limit) else {
        return quoted(&kept.beginning).join("\n");
    };
    let left_out = kept.chars - limit;
    let hidden = value.filter(|value| !beginning.contains(value) && !end.contains(value));
    let room = limit / 4;
    let around = hidden.and_then(|value| kept.around(value, room));
    let more = format!("… {left_out} more characters, which the result of that call has");
    let (beginning, middle, end) = match (hidden, around) {
        (Some(_), Some(around)) => {
            let (beginning, end) = kept.ends(limit - room).unwrap_or((beginning, end));
            let mut middle = vec![format!("{more}; around the value")];
            middle.extend(quoted(&around));
            middle.push("… and at its end".to_owned());
            (beginning, middle, end)
        }
        (Some(_), None) => {
            (beginning, vec![format!("{more}, the value among them, and at its end")], end)
        }
        (None, _) => (beginning, vec![format!("{more}, and at its end")], end),
    };
    let lines = quoted(&beginning).into_iter().chain(middle).chain(quoted(&end));
    lines.collect::<Vec<_>>().join("\n")
}

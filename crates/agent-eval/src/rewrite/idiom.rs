//! The idioms themselves, as calls of what the kernel offers.

use serde_json::Value;

use super::rewrite;

/// Cell magics whose body is Python, with idioms of its own.
const PYTHON_BODIES: &[&str] = &["time", "timeit", "capture"];

/// `__agent__.name("…", …)`.
pub(super) fn call(name: &str, args: &[&str]) -> String {
    let args: Vec<String> = args.iter().map(|arg| literal(arg)).collect();
    format!("__agent__.{name}({})", args.join(", "))
}

/// A string of Python. JSON's are.
pub(super) fn literal(text: &str) -> String {
    Value::from(text).to_string()
}

/// What `?` and `??` ask.
pub(super) fn help(target: &str, marks: usize) -> String {
    let name = if marks > 1 { "pinfo2" } else { "pinfo" };
    call("line", &[name, target])
}

/// A magic's name and the rest of its line.
pub(super) fn magic_name(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c| !is_word(c)).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let begins = |c: char| c.is_ascii_digit();
    let fits = rest.is_empty() || rest.starts_with(char::is_whitespace) || rest.starts_with('?');
    (!name.is_empty() && !name.starts_with(begins) && fits).then(|| (name, rest.trim()))
}

/// The object before a `?`: names, dots, subscripts.
pub(super) fn help_target(before: &str) -> Option<&str> {
    let before = before.trim_end();
    let mut start = before.len();
    let mut depth = 0_usize;
    for (at, c) in before.char_indices().rev() {
        match c {
            ']' => depth += 1,
            '[' if depth == 0 => break,
            '[' => depth -= 1,
            _ if depth == 0 && !is_word(c) && !matches!(c, '.' | '*' | '%') => break,
            _ => {}
        }
        start = at;
    }
    let target = &before[start..];
    (!target.is_empty() && !target.starts_with(|c: char| c.is_ascii_digit())).then_some(target)
}

/// A cell that is one magic: `%%name` on the first line that is neither empty nor a comment.
pub(super) fn cell_magic(lines: &[String]) -> Option<String> {
    let first = lines.iter().position(|line| {
        let text = line.trim_start();
        !text.is_empty() && !text.starts_with('#')
    })?;
    let (name, args) = magic_name(lines[first].strip_prefix("%%")?)?;
    let rest = &lines[first + 1..];
    let mut body = rest.join("\n");
    if !body.is_empty() && !body.ends_with('\n') {
        body.push('\n');
    }
    if PYTHON_BODIES.contains(&name) {
        body = rewrite(&body).into_owned();
    }
    let above = "\n".repeat(first);
    let below = "\n".repeat(rest.len());
    Some(format!("{above}{}{below}", call("cell", &[name, args, &body])))
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

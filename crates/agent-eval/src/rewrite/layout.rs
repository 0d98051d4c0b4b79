//! What people paste: indented code, prompts, line endings of another system.

/// The cell's lines without common indent and prompts, and whether they are as they were typed.
pub(super) fn plain_lines(source: &str) -> (Vec<String>, bool) {
    let text = source.replace("\r\n", "\n");
    let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
    strip_indent(&mut lines);
    strip_prompts(&mut lines);
    let plain = lines.iter().map(String::as_str).eq(source.split('\n'));
    (lines, plain)
}

/// Takes the indent of the first line of code from all of them.
fn strip_indent(lines: &mut [String]) {
    let Some(first) = lines.iter().find(|line| !line.trim().is_empty()) else { return };
    let indent = first[..first.len() - first.trim_start_matches([' ', '\t']).len()].to_owned();
    if indent.is_empty() {
        return;
    }
    for line in lines {
        if let Some(rest) = line.strip_prefix(&indent) {
            *line = rest.to_owned();
        } else if line.trim().is_empty() {
            line.clear();
        }
    }
}

fn strip_prompts(lines: &mut [String]) {
    let Some(first) = lines.iter().find(|line| !line.trim().is_empty()) else { return };
    if is_classic(first) {
        lines.iter_mut().for_each(strip_classic);
    } else if after_in(first).is_some() {
        lines.iter_mut().for_each(strip_in);
    }
}

/// `>>> `
fn is_classic(line: &str) -> bool {
    let text = line.trim_start();
    text == ">>>" || text.starts_with(">>> ")
}

fn strip_classic(line: &mut String) {
    let text = line.trim_start();
    let rest = [">>> ", "... ", ">>>", "..."].iter().find_map(|prompt| text.strip_prefix(prompt));
    if let Some(rest) = rest {
        *line = rest.to_owned();
    }
}

/// What follows `In [12]: `.
fn after_in(line: &str) -> Option<&str> {
    let (number, rest) = line.trim_start().strip_prefix("In [")?.split_once("]: ")?;
    let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    digits.then_some(rest)
}

/// `In [12]: ` and `    ...: `.
fn strip_in(line: &mut String) {
    let continued = || {
        let rest = line.trim_start().trim_start_matches('.');
        let dots = line.trim_start().len() - rest.len();
        let rest = rest.strip_prefix(':').filter(|_| dots >= 3)?;
        Some(rest.strip_prefix(' ').unwrap_or(rest))
    };
    if let Some(rest) = after_in(line).or_else(continued) {
        *line = rest.to_owned();
    }
}

//! The report as a person reads it.

use std::io::{self, Write};

use agent_tool_core::for_person;

use super::Report;
use crate::style::{ADDED, ALERT, FAINT, STRONG, in_style};

/// How wide the names stand before what is said.
const NAME_WIDTH: usize = 14;

pub(super) fn print(report: &Report) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    let mut line = |name: &str, said: String| {
        let name = in_style(STRONG, format!("{name:NAME_WIDTH$}"));
        let below = format!("\n{:NAME_WIDTH$} ", "");
        writeln!(out, "{name} {}", for_person(&said).replace('\n', &below))
    };
    for root in &report.roots {
        line("root", format!("{} ({})", root.path.display(), root.name))?;
    }
    if let Some(containment) = &report.containment {
        line("containment", format!("held by the {containment}"))?;
    }
    for group in &report.groups {
        let tools = if group.tools.is_empty() {
            group.words.no_tools.to_owned()
        } else {
            group.tools.join(", ")
        };
        line(group.name, tools)?;
        let has = if group.has.is_empty() {
            group.words.nothing.to_owned()
        } else {
            let between = group.words.between;
            let first = if between.contains('\n') { between } else { " " };
            format!("{}:{first}{}", group.words.having, group.has.join(between))
        };
        line("", has)?;
        for missing in &group.missing {
            let what = missing.what.join(", ");
            line(
                "",
                format!("{}: {what}; {} {}", group.words.lacking, group.words.remedy, missing.how),
            )?;
        }
    }
    line("programs", "none is needed but those above".to_owned())?;
    if let Some(terminal) = &report.terminal {
        let present = if terminal.present { "present" } else { "none" };
        line("terminal", format!("{present}; {}", terminal.said))?;
    }
    if let Some(surface) = report.surface {
        line("surface", word(surface))?;
    }
    if let Some(approve) = report.approve {
        line("approve", word(approve))?;
    }
    let trusted = if report.trusted { "trusted" } else { "not trusted" };
    line("trust", format!("{trusted}: {}", report.trust_said_by))?;
    for layer in &report.configuration {
        line("configuration", layer.in_words())?;
    }
    for ignored in &report.ignored_configuration {
        line("", ignored.clone())?;
    }
    if let Some(state) = &report.state {
        let writable = if state.writable { "writable" } else { "not writable" };
        line("state", format!("{} ({writable})", state.path.display()))?;
    }
    for interrupted in &report.interrupted_changes {
        line("cut off", interrupted.said.clone())?;
    }
    for problem in &report.problems {
        writeln!(out, "{} {}", in_style(ALERT, "problem:"), for_person(problem))?;
    }
    let (style, verdict) = if report.usable {
        (ADDED, "usable")
    } else if report.groups.is_empty() {
        (ALERT, "not usable before that is put right")
    } else {
        (ALERT, "usable for looking; files cannot be changed before that is put right")
    };
    writeln!(
        out,
        "{} {}",
        in_style(style, verdict),
        in_style(FAINT, format!("(agent-run {})", report.version))
    )
}

/// The word by which configuration and protocol call it.
fn word(value: impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}

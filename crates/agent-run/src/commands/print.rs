//! Results on standard output: cleaned for a person, verbatim for a program.

use std::io::{self, IsTerminal, Write};

use agent_tool_core::{Part, ToolCall, ToolResult, ToolSpec, for_person};
use anyhow::Result;

use crate::{
    pictures::Pictures,
    style::{ALERT, FAINT, STRONG, diff, in_style, remark},
};

/// A line that a program reads.
pub(super) fn line(text: &str) -> Result<()> {
    Ok(writeln!(io::stdout().lock(), "{text}")?)
}

/// The tools with their tiers.
pub(super) fn specs(specs: &[ToolSpec]) -> Result<()> {
    let mut out = anstream::stdout().lock();
    for spec in specs {
        let summary = first_sentence(&spec.description);
        writeln!(
            out,
            "{} {:5} {}",
            in_style(STRONG, format!("{:12}", spec.name)),
            spec.tier,
            in_style(FAINT, summary)
        )?;
        let properties = spec.input_schema["properties"].as_object();
        let required = spec.input_schema["required"].as_array();
        let names = properties.into_iter().flatten().map(|(name, schema)| {
            let needed = required
                .is_some_and(|required| required.iter().any(|other| other == name.as_str()));
            let kind = schema["type"].as_str().unwrap_or_default();
            format!("{name}{}: {kind}", if needed { "" } else { "?" })
        });
        writeln!(out, "{:12} {}", "", names.collect::<Vec<_>>().join(", "))?;
    }
    drop(out);
    remark(in_style(FAINT, "--json shows whole descriptions and schemas"));
    Ok(())
}

/// The first sentence of a description, with an ellipsis where its line ends before it does.
fn first_sentence(description: &str) -> String {
    let line = description.lines().next().unwrap_or_default();
    match line.split_once(". ") {
        Some((sentence, _)) => format!("{sentence}."),
        None if line.ends_with('.') => line.to_owned(),
        None => format!("{line} …"),
    }
}

/// A call of a script, before its result.
pub(super) fn call(call: &ToolCall) -> Result<()> {
    let args = for_person(&call.args.to_string());
    Ok(writeln!(
        anstream::stdout().lock(),
        "{} {}",
        in_style(STRONG, &call.name),
        in_style(FAINT, args)
    )?)
}

/// A result. What a person reads on a terminal is cleaned; what a pipe takes is what a model gets. Images are saved and named.
pub(super) fn result(result: &ToolResult, pictures: &Pictures) -> Result<()> {
    let person = io::stdout().is_terminal();
    match result {
        Ok(output) => {
            for part in &output.parts {
                match part {
                    Part::Text { text } if person => {
                        write!(anstream::stdout().lock(), "{}", diff(&for_person(text)))?;
                    }
                    Part::Text { text } => line(text)?,
                    other => {
                        if let Some(said) = pictures.save(other) {
                            line(&said)?;
                        }
                    }
                }
            }
        }
        Err(error) => {
            let message = for_person(&error.message);
            remark(format!("{} {message}", in_style(ALERT, format!("{}:", error.code))));
        }
    }
    Ok(())
}

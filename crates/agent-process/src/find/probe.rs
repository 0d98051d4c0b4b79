use std::path::Path;

use super::{MAX_PROBE_LINE_CHARS, MAX_PROBE_LINES, Wanted, Why};
use crate::{Launcher, Program, RunLimits, platform, text::clip};

/// How much of a probe's output is looked at.
const OUTPUT_BYTES: usize = 8 << 10;

/// The program's version line, if it answers in a folder that no checkout has a say in.
pub(super) async fn ask(launcher: &Launcher, path: &Path, wanted: &Wanted) -> Result<String, Why> {
    let Some(args) = &wanted.probe else { return Ok(String::new()) };
    let program = Program::new(path, platform::neutral_folder()).args(args);
    let limits = RunLimits::new().time(wanted.probe_time).output_bytes(OUTPUT_BYTES);
    let ran = launcher.run(&program, &limits).await;
    let output = ran.map_err(|error| Why::NotStarted(error.to_string()))?;
    let Some(exit) = output.exit else { return Err(Why::TimedOut(wanted.probe_time)) };
    let mut lines = first_lines(&output.stdout);
    if exit.success() {
        let first = lines.into_iter().chain(first_lines(&output.stderr)).next();
        return Ok(first.unwrap_or_default());
    }
    let errors = first_lines(&output.stderr);
    if !errors.is_empty() {
        lines = errors;
    }
    Err(Why::ProbeFailed { exit: exit.to_string(), lines })
}

fn first_lines(output: &[u8]) -> Vec<String> {
    let lines = output.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let lines = lines.filter(|line| !line.is_empty()).take(MAX_PROBE_LINES);
    lines.map(|line| clip(line, MAX_PROBE_LINE_CHARS)).collect()
}

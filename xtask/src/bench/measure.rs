//! The processor, the clock and the memory that one process takes.

use std::{path::Path, process::Command};

use anyhow::{Context, Result, bail};

use crate::sh;

/// How often each side of a pair runs; medians are printed.
pub const ROUNDS: usize = 5;

/// The standard library has no way to a child's processor time and peak memory; Python's has.
const PYTHON: &str = "
import resource, subprocess, sys, time
quiet = dict(stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
begun = time.perf_counter()
subprocess.run(sys.argv[1:], **quiet)
wall = time.perf_counter() - begun
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, wall, used.ru_maxrss)
";

/// What one process took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    /// Seconds of all processors, of user and system.
    pub cpu: f64,
    /// Seconds from start to end.
    pub wall: f64,
    /// The most memory that it held, in KiB.
    pub peak: f64,
}

/// Runs `program` in `folder` with its output thrown away.
pub fn measure(program: &Path, args: &[&str], folder: &Path) -> Result<Cost> {
    let mut command = sh::command("python3", ["-c", PYTHON]);
    let text = sh::output(command.arg(program).args(args).current_dir(folder))?;
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    match numbers.as_slice() {
        // The kernel counts in milliseconds and less; what takes less than one is taken as one.
        &[cpu, wall, peak] => Ok(Cost { cpu: cpu.max(0.001), wall: wall.max(0.001), peak }),
        _ => bail!("no times in {text:?}"),
    }
}

/// The median of each figure.
pub fn medians(costs: &[Cost]) -> Cost {
    Cost {
        cpu: median(costs.iter().map(|cost| cost.cpu)),
        wall: median(costs.iter().map(|cost| cost.wall)),
        peak: median(costs.iter().map(|cost| cost.peak)),
    }
}

pub fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

pub fn geometric_mean(values: &[f64]) -> f64 {
    (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp()
}

/// What `program` prints, whatever it ends with: the peer ends with 1 where it found nothing.
pub fn printed(program: &Path, args: &[&str], folder: &Path) -> Result<String> {
    let output = Command::new(program).args(args).current_dir(folder).output();
    let output = output.with_context(|| format!("cannot start {}", program.display()))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

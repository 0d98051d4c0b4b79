//! Measures side by side against the peer, in turns, in one run, and prints ratios. No test.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::{features, sh};

/// The peer, from the Python registry.
const PEER: &str = "ast-grep-cli==0.51.1";

/// How often each side of a pair runs; medians are printed.
const ROUNDS: usize = 5;

/// Enough for every match: what is compared is the work of finding all.
const ALL: usize = 1_000;

struct Pair {
    language: &'static str,
    /// The words that every match holds decide how many files are parsed.
    pattern: &'static str,
}

const PAIRS: &[Pair] = &[
    Pair { language: "rust", pattern: "panic::catch_unwind($X)" },
    Pair { language: "rust", pattern: "mem::transmute($X)" },
    Pair { language: "rust", pattern: "thread::spawn($X)" },
    Pair { language: "rust", pattern: "$X.unwrap()" },
    Pair { language: "rust", pattern: "Some($X) => $Y" },
    Pair { language: "rust", pattern: "if let Some($X) = $Y { $$$B }" },
    Pair { language: "rust", pattern: "$A == $A" },
    Pair { language: "python", pattern: "isinstance($X, $Y)" },
    Pair { language: "python", pattern: "$X == None" },
    Pair { language: "python", pattern: "self.assertRaisesMessage($$$A)" },
    Pair { language: "python", pattern: "warnings.warn($$$A)" },
    Pair { language: "python", pattern: "$A == $A" },
];

pub fn bench(names: &[&str]) -> Result<()> {
    match names {
        [] | ["astgrep"] => astgrep(),
        ["dispatch"] => sh::run(&mut sh::cargo([
            "bench",
            "--quiet",
            "--package",
            "agent-tiers",
            "--bench",
            "dispatch",
        ])),
        other => {
            bail!("there is no benchmark `{}`; there are astgrep and dispatch", other.join(" "))
        }
    }
}

fn astgrep() -> Result<()> {
    let peer = peer()?;
    let all = features::everything();
    sh::run(&mut sh::cargo([
        "build",
        "--release",
        "--quiet",
        "--package",
        "agent-run",
        "--features",
        &all,
    ]))?;
    let ours = sh::root().join("target/release/agent-run");
    let corpora = [("rust", rust_corpus()?), ("python", python_corpus()?)];
    println!(
        "CPU and wall: ast-grep's divided by ours, medians of {ROUNDS}; more than 1 is better\n"
    );
    println!(
        "{:8} {:34} {:>6} {:>6} {:>7} {:>7} {:>8} {:>8}",
        "", "pattern", "files", "parsed", "found", "theirs", "CPU", "wall"
    );
    let mut logs = Vec::new();
    for pair in PAIRS {
        let Some((_, corpus)) = corpora.iter().find(|(language, _)| *language == pair.language)
        else {
            continue;
        };
        let args = json!({"pattern": pair.pattern, "language": pair.language, "max_results": ALL})
            .to_string();
        let mut our_times = Vec::new();
        let mut their_times = Vec::new();
        for _ in 0..ROUNDS {
            our_times.push(time(&ours, &["--json", "call", "ast_grep", &args], corpus)?);
            let run = ["run", "-p", pair.pattern, "-l", pair.language, "--json=stream", "."];
            their_times.push(time(&peer, &run, corpus)?);
        }
        let found = output(&ours, &["--json", "call", "ast_grep", &args], corpus)?;
        let found: Value = serde_json::from_str(&found).context("our result")?;
        let theirs = output(
            &peer,
            &["run", "-p", pair.pattern, "-l", pair.language, "--json=stream", "."],
            corpus,
        )?;
        let cpu = median(&their_times, |time| time.cpu) / median(&our_times, |time| time.cpu);
        let wall = median(&their_times, |time| time.wall) / median(&our_times, |time| time.wall);
        logs.push(cpu.ln());
        let data = &found["data"];
        let total =
            data["total"].as_u64().map_or_else(|| format!(">{ALL}"), |total| total.to_string());
        println!(
            "{:8} {:34} {:>6} {:>6} {:>7} {:>7} {:>7.2}x {:>7.2}x",
            pair.language,
            pair.pattern,
            data["searched"],
            data["parsed"],
            total,
            theirs.lines().count(),
            cpu,
            wall
        );
    }
    println!(
        "\ngeometric mean of CPU: {:.2}x",
        (logs.iter().sum::<f64>() / logs.len() as f64).exp()
    );
    let mut start: Vec<f64> = Vec::new();
    for _ in 0..ROUNDS * 4 {
        start.push(
            time(
                &ours,
                &["call", "resolve", "{\"edit_id\": \"edit_1\", \"action\": \"discard\"}"],
                &sh::root(),
            )?
            .wall,
        );
    }
    start.sort_by(f64::total_cmp);
    println!("start of `agent-run call`: {:.1} ms", start[start.len() / 2] * 1e3);
    Ok(())
}

#[derive(Clone, Copy)]
struct Times {
    cpu: f64,
    wall: f64,
}

fn median(times: &[Times], of: impl Fn(&Times) -> f64) -> f64 {
    let mut values: Vec<f64> = times.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// CPU seconds of a child are what bash's `time` prints: the standard library has no way to them.
fn time(program: &Path, args: &[&str], folder: &Path) -> Result<Times> {
    let script = "TIMEFORMAT='%U %S %R'; time \"$0\" \"$@\" >/dev/null 2>/dev/null";
    let mut command = Command::new("bash");
    command.args(["-c", script]).arg(program).args(args).current_dir(folder).stdin(Stdio::null());
    let output = command.output().context("bash")?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let line = text.lines().last().unwrap_or_default();
    let numbers: Vec<f64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    match numbers.as_slice() {
        [user, system, wall] => {
            Ok(Times { cpu: (user + system).max(0.001), wall: wall.max(0.001) })
        }
        _ => bail!("no times in {text:?}"),
    }
}

fn output(program: &Path, args: &[&str], folder: &Path) -> Result<String> {
    let output =
        Command::new(program).args(args).current_dir(folder).stdin(Stdio::null()).output()?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn peer() -> Result<PathBuf> {
    let venv = sh::root().join(".tools/bench");
    let program = venv.join("bin/ast-grep");
    if !program.exists() {
        let folder = venv.to_string_lossy().into_owned();
        sh::run(&mut sh::command("python3", ["-m", "venv", &folder]))?;
        let pip = venv.join("bin/pip").to_string_lossy().into_owned();
        sh::install(&mut sh::command(&pip, ["install", "--quiet", PEER]))?;
    }
    Ok(program)
}

/// The sources that cargo downloaded for this workspace: what every developer of it has. A copy,
/// since where they stand differs, and what is ignored there would be searched by one side alone.
fn rust_corpus() -> Result<PathBuf> {
    let corpus = sh::root().join(".tools/bench/rust");
    if corpus.exists() {
        return Ok(corpus);
    }
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home
        .or_else(|| std::env::home_dir().map(|home| home.join(".cargo")))
        .context("no cargo home")?;
    let sources = home.join("registry/src");
    for registry in fs::read_dir(&sources).with_context(|| format!("{}", sources.display()))? {
        for file in sh::files(&registry?.path())? {
            if file.extension().is_some_and(|ending| ending == "rs") {
                let target = corpus.join(file.strip_prefix(&sources)?);
                fs::create_dir_all(target.parent().context("a parent")?)?;
                fs::copy(&file, &target)?;
            }
        }
    }
    Ok(corpus)
}

fn python_corpus() -> Result<PathBuf> {
    let corpus = sh::root().join(".tools/bench/python");
    if !corpus.exists() {
        let folder = corpus.to_string_lossy().into_owned();
        let download = [
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--no-binary",
            ":all:",
            "-d",
            &folder,
            "Django==5.2.9",
        ];
        sh::install(&mut sh::command("python3", download))?;
        for archive in sh::files(&corpus)? {
            let archive = archive.to_string_lossy().into_owned();
            sh::run(&mut sh::command("tar", ["-xzf", &archive, "-C", &folder]))?;
        }
    }
    Ok(corpus)
}

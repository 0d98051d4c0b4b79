//! Structural search beside `ast-grep`.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::{
    corpora::{CORPORA, Corpus},
    measure::{Cost, ROUNDS, geometric_mean, measure, median, medians, printed},
    patterns::{PAIRS, Pair},
};
use crate::{features, sh};

/// The peer, from the Python registry.
const PEER: &str = "ast-grep-cli==0.51.1";

/// How many searches of one run are made after the first, for the cost of one.
const AGAIN: usize = 5;

/// How often the start of the program is timed.
const STARTS: usize = 21;

/// A corpus smaller than this says little about speed: starting takes longer than searching.
const SMALL: u64 = 2_000_000;

/// How many places that one side alone found are named.
const NAMED: usize = 3;

struct Programs {
    /// The program that a person runs.
    run: PathBuf,
    /// Every match of the library, and the floor.
    search: PathBuf,
    peer: PathBuf,
}

/// What one pattern came to.
struct Row {
    /// What the floor saw: files, bytes, and how much of it holds all words of the pattern.
    seen: Value,
    ours: Cost,
    floor: Cost,
    theirs: Cost,
    first: Option<(f64, f64)>,
    again: f64,
    call: Cost,
}

pub fn bench(language: Option<&str>) -> Result<()> {
    let programs = Programs::build()?;
    println!(
        "medians of {ROUNDS}, in turns; CPU, wall and again are {PEER}'s divided by ours, so more is better\n\
         words: share of the bytes in files with all words of the pattern; floor: parsing only those \
         files, divided by our search\n\
         again: a second search of the same run; first: the default call where the 50th match lies \
         in the first 5 % of the bytes, our CPU as a share of the peer's\n"
    );
    println!(
        "{:10} {:33} {:>6} {:>6} {:>5} {:>6} {:>6} {:>6} {:>7} {:>6} {:>6}  aim",
        "", "pattern", "words", "found", "same", "CPU", "wall", "floor", "again", "first", "memory"
    );
    let mut ratios = Vec::new();
    for corpus in
        CORPORA.iter().filter(|corpus| language.is_none_or(|only| only == corpus.language))
    {
        let folder = corpus.folder()?;
        for pair in PAIRS.iter().filter(|pair| pair.language == corpus.language) {
            let same = compare(&programs, pair, &folder)?;
            let row = row(&programs, pair, &folder, &same)?;
            let counted = print(corpus, pair, &row, &same);
            ratios.extend(counted.then_some(row.theirs.cpu / row.ours.cpu));
        }
    }
    println!(
        "\ngeometric mean of CPU over {} patterns: {:.2}x",
        ratios.len(),
        geometric_mean(&ratios)
    );
    let args = ["call", "resolve", r#"{"edit_id": "edit_1", "action": "discard"}"#];
    let starts = (0..STARTS).map(|_| measure(&programs.run, &args, &sh::root()));
    let starts = starts.collect::<Result<Vec<_>>>()?;
    println!(
        "start of `agent-run call`: {:.1} ms",
        1e3 * median(starts.iter().map(|cost| cost.wall))
    );
    Ok(())
}

fn row(programs: &Programs, pair: &Pair, folder: &Path, same: &Same) -> Result<Row> {
    let Pair { language, pattern, .. } = pair;
    let one = json!({"pattern": pattern, "language": language});
    let script = sh::root().join(".tools/bench/script.jsonl");
    let many = sh::root().join(".tools/bench/scripts.jsonl");
    let most = json!({"pattern": pattern, "language": language, "max_results": 1000});
    let most_line = json!({"tool": "ast_grep", "args": most}).to_string() + "\n";
    fs::write(&script, &most_line)?;
    fs::write(&many, most_line.repeat(1 + AGAIN))?;
    let (script, many) = (script.to_string_lossy(), many.to_string_lossy());
    let one = one.to_string();
    let mut costs: [Vec<Cost>; 6] = Default::default();
    for _ in 0..ROUNDS {
        let runs: [(&Path, &[&str]); 6] = [
            (&programs.search, &["all", language, pattern]),
            (&programs.search, &["floor", language, pattern]),
            (&programs.peer, &["run", "-p", pattern, "-l", language, "--json=stream", "."]),
            (&programs.run, &["--json", "call", "ast_grep", &one]),
            (&programs.run, &["--json", "script", &script]),
            (&programs.run, &["--json", "script", &many]),
        ];
        for (costs, (program, args)) in costs.iter_mut().zip(runs) {
            costs.push(measure(program, args, folder)?);
        }
    }
    let [ours, floor, theirs, call, first, all] = costs.map(|costs| medians(&costs));
    let mut args = vec!["floor", language, pattern];
    args.extend(same.fiftieth.as_deref());
    let seen: Value = serde_json::from_str(&printed(&programs.search, &args, folder)?)?;
    let early = seen["until"].as_f64().zip(seen["bytes"].as_f64());
    let early = early.map(|(until, bytes)| until / bytes);
    Ok(Row {
        seen,
        ours,
        floor,
        theirs,
        first: early.filter(|share| *share < 0.05).map(|share| (share, call.cpu / theirs.cpu)),
        again: theirs.cpu / ((all.cpu - first.cpu) / AGAIN as f64).max(0.0005),
        call,
    })
}

/// Prints a row with the aim that it is held to, and says whether it counts in the mean.
fn print(corpus: &Corpus, pair: &Pair, row: &Row, same: &Same) -> bool {
    let share = |part: &Value, whole: &Value| {
        part.as_f64().unwrap_or_default() / whole.as_f64().unwrap_or(1.0)
    };
    let words = share(&row.seen["parsed_bytes"], &row.seen["bytes"]);
    let cpu = row.theirs.cpu / row.ours.cpu;
    let floor = row.floor.cpu / row.ours.cpu;
    let small = row.seen["bytes"].as_u64().is_none_or(|bytes| bytes < SMALL);
    let (aim, met) = match words {
        _ if small => ("small corpus", true),
        words if words < 0.02 => ("8x", cpu >= 8.0),
        words if words > 0.4 => ("0.91x", cpu >= 1.0 / 1.1),
        _ => ("floor 0.85", floor >= 0.85),
    };
    let first =
        row.first.map_or_else(|| "-".to_owned(), |(_, cost)| format!("{:.0}%", cost * 100.0));
    let missed = [
        (!met).then_some("MISSED"),
        (!small && row.again < 8.0).then_some("again MISSED"),
        row.first.is_some_and(|(_, cost)| cost > 0.15).then_some("first MISSED"),
        (!small && row.call.peak > 1.5 * row.theirs.peak).then_some("memory MISSED"),
        (pair.differs.is_none() && !same.equal()).then_some("FOUND OTHERS"),
    ];
    let missed: Vec<_> = missed.into_iter().flatten().collect();
    println!(
        "{:10} {:33} {:>5.1}% {:>6} {:>5} {:>5.1}x {:>5.1}x {:>6.2} {:>6.1}x {:>6} {:>5.2}x  {aim} {}",
        corpus.language,
        pair.pattern,
        words * 100.0,
        same.ours.len(),
        if same.equal() { "yes".to_owned() } else { format!("{:+}", same.difference()) },
        cpu,
        row.theirs.wall / row.ours.wall,
        floor,
        row.again,
        first,
        row.call.peak / row.theirs.peak,
        missed.join(", ")
    );
    if pair.differs.is_none() {
        for (who, one, two) in
            [("we", &same.ours, &same.theirs), ("peer", &same.theirs, &same.ours)]
        {
            for (file, line, column) in one.difference(two).take(NAMED) {
                println!("    {who} alone: {file}:{line}:{column}");
            }
        }
    }
    !small
}

/// Where the two sides found a match: file, line and column from 1.
struct Same {
    ours: BTreeSet<(String, u64, u64)>,
    theirs: BTreeSet<(String, u64, u64)>,
    /// The file of our 50th match.
    fiftieth: Option<String>,
}

impl Same {
    fn equal(&self) -> bool {
        self.ours == self.theirs
    }

    fn difference(&self) -> isize {
        self.ours.len().cast_signed() - self.theirs.len().cast_signed()
    }
}

fn compare(programs: &Programs, pair: &Pair, folder: &Path) -> Result<Same> {
    let Pair { language, pattern, .. } = pair;
    let ours = printed(&programs.search, &["all", language, pattern], folder)?;
    let args = ["run", "-p", pattern, "-l", language, "--json=stream", "."];
    let theirs = printed(&programs.peer, &args, folder)?;
    let lines = |text: &str| -> Result<Vec<Value>> {
        text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
    };
    let ours = lines(&ours)?;
    let place = |file: &Value, line: &Value, column: &Value, first: u64| {
        let file = file.as_str().unwrap_or_default().trim_start_matches("./").to_owned();
        (
            file,
            line.as_u64().unwrap_or_default() + first,
            column.as_u64().unwrap_or_default() + first,
        )
    };
    let same = Same {
        fiftieth: ours.get(49).and_then(|found| found["file"].as_str().map(str::to_owned)),
        ours: ours
            .iter()
            .map(|found| place(&found["file"], &found["line"], &found["column"], 0))
            .collect(),
        theirs: lines(&theirs)?
            .iter()
            .map(|found| {
                let start = &found["range"]["start"];
                place(&found["file"], &start["line"], &start["column"], 1)
            })
            .collect(),
    };
    Ok(same)
}

impl Programs {
    fn build() -> Result<Self> {
        let all = features::everything();
        let run = sh::built(["--release", "--features", &all])?;
        let bench = ["bench", "--quiet", "--package", "agent-astgrep", "--bench", "search"];
        let only =
            ["--no-run", "--message-format", "json", "--features", "agent-astgrep/all-langs"];
        let messages = sh::output(&mut sh::cargo(bench.into_iter().chain(only)))?;
        let search =
            sh::executable(&messages, "search").context("cargo named no benchmark program")?;
        Ok(Self { run, search, peer: peer()? })
    }
}

fn peer() -> Result<PathBuf> {
    let venv = sh::root().join(".tools/bench/python");
    let program = venv.join("bin/ast-grep");
    if !program.exists() {
        let folder = venv.to_string_lossy().into_owned();
        sh::run(&mut sh::command("python3", ["-m", "venv", &folder]))?;
        let pip = venv.join("bin/pip").to_string_lossy().into_owned();
        sh::install(&mut sh::command(&pip, ["install", "--quiet", PEER]))?;
    }
    if !program.exists() {
        bail!("{PEER} brought no program `ast-grep`");
    }
    Ok(program)
}

//! What this crate costs beside a raw client that talks to a server of the same kind, in turns, in one
//! run: so the load of the machine is in both. Prints figures, asserts none.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark prints, and ends where something is not as it has to be"
)]

#[path = "../../tests/scripted/fixture.rs"]
#[expect(dead_code, reason = "the suite of tests needs more of it")]
mod fixture;
mod flood;
#[path = "../../tests/live/languages.rs"]
#[expect(dead_code, reason = "the suite of tests needs more of it")]
mod languages;
mod raw;
#[path = "../../tests/live/servers.rs"]
#[expect(dead_code, reason = "the suite of tests needs more of it")]
mod servers;
#[path = "../../tests/live/session.rs"]
#[expect(dead_code, reason = "the suite of tests needs more of it")]
mod session;
mod ways;

use std::{
    fs,
    time::{Duration, Instant},
};

use agent_lsp::table::Trust;
use serde_json::json;

use crate::{
    raw::Raw,
    servers::{CLANGD, Live, RUST_ANALYZER, TSC, TY, TYPESCRIPT_LANGUAGE_SERVER},
    session::Session,
    ways::Way,
};

/// How many warm calls of each side are measured, and how many writes.
const CALLS: usize = 200;
const WRITES: usize = 24;

/// Not counted at the beginning: caches fill.
const WARM_UP: usize = 4;

/// What a warm call may take more than a raw one.
const CALL_P50: Duration = Duration::from_millis(1);
const CALL_P95: Duration = Duration::from_millis(5);

/// What a write may take that no server is for.
const NO_SERVER: Duration = Duration::from_micros(200);

/// The servers, how diagnostics come there, and what a write to them may take more than a raw one.
const MEASURED: [(&Live, Way, Duration); 5] = [
    (&TY, Way::Pull, Duration::from_millis(5)),
    (&TSC, Way::Pull, Duration::from_millis(5)),
    (&CLANGD, Way::Versioned, Duration::from_millis(20)),
    (&TYPESCRIPT_LANGUAGE_SERVER, Way::Tsserver, Duration::from_millis(40)),
    (&RUST_ANALYZER, Way::Flycheck, Duration::from_millis(50)),
];

fn main() {
    agent_process::guard::main_if_asked();
    agent_testkit::lsp::main_if_asked();
    // Under `cargo test --benches` it is built and not run.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    println!("milliseconds, p50 (p95); ours and raw in turns");
    for (live, way, most) in MEASURED {
        match servers::is_there(live.program) {
            Ok(()) => measure(live, way, most),
            Err(why) => println!("{}: not measured: {why}", live.id),
        }
    }
    without_server();
    flood::measure();
}

fn measure(live: &'static Live, way: Way, most: Duration) {
    let language = live.language;
    let runtime = runtime();
    let session = Session::new(live);
    let beside = Session::at(live, "raw", Trust::Trusted);
    let row = agent_lsp::table::ServerTable::bundled();
    let row = row.by_id(live.id).unwrap();
    let args: Vec<&str> = row.args.iter().map(String::as_str).collect();
    let program = which(live);
    let mut raw = Raw::start(&program, &args, beside.root());
    let id = row.language_of(language.main.as_ref()).unwrap();
    raw.open(language.main, id);
    way.get_ready(&mut raw);

    let at = (language.main, language.uses);
    let line = session.line(at);
    let position =
        json!({ "line": line - 1, "character": session.column(at, language.function) - 1 });
    let hover = json!({
        "textDocument": { "uri": raw.uri(language.main) }, "position": position,
    });
    // The whole of the code before the comment names one occurrence.
    let symbol = format!("{}(", language.function);
    let ask = json!({ "action": "hover", "file": language.main, "line": line, "symbol": symbol });
    runtime.block_on(session.ask("references", at, language.function));
    let calls = in_turns(
        CALLS,
        || drop(runtime.block_on(session.call(ask.clone())).unwrap()),
        || drop(raw.request("textDocument/hover", hover.clone())),
    );
    report(live.id, "hover", &calls, CALL_P50, Some(CALL_P95));

    let clean = session.read(language.main);
    let broken = clean.replacen(language.breaks.from, language.breaks.to, 1);
    let texts = [&broken, &clean];
    let (mut ours, mut theirs) = (0, 0);
    let writes = in_turns(
        WRITES,
        || {
            let told = runtime.block_on(session.write(language.main, Some(texts[ours % 2])));
            assert!(!told.text.contains("pending"), "{}", told.text);
            ours += 1;
        },
        || {
            way.write(&mut raw, language.main, texts[theirs % 2]);
            theirs += 1;
        },
    );
    report(live.id, way.name(), &writes, most, None);
}

/// A write to a file that no server takes: what the wrapper costs.
fn without_server() {
    let runtime = runtime();
    let session = Session::new(&TY);
    let plain = session.root().join("notes.txt");
    let text = "a line\n".repeat(200);
    let writes = in_turns(
        CALLS,
        || drop(runtime.block_on(session.write_output("notes.txt", Some(&text)))),
        || {
            let _ = fs::read(&plain);
            fs::write(&plain, &text).unwrap();
            let _ = fs::read(&plain);
        },
    );
    report("no server", "write", &writes, NO_SERVER, None);
}

/// Durations of ours and of the other, taken in turns.
fn in_turns(rounds: usize, mut ours: impl FnMut(), mut other: impl FnMut()) -> [Vec<Duration>; 2] {
    let mut taken = [Vec::new(), Vec::new()];
    for round in 0..rounds + WARM_UP {
        for (side, taken) in taken.iter_mut().enumerate() {
            let begun = Instant::now();
            if side == 0 {
                ours()
            } else {
                other()
            }
            if round >= WARM_UP {
                taken.push(begun.elapsed());
            }
        }
    }
    taken
}

/// Prints both sides, what ours takes more, and whether that is within its bounds.
fn report(
    server: &str,
    what: &str,
    [ours, raw]: &[Vec<Duration>; 2],
    p50: Duration,
    p95: Option<Duration>,
) {
    let more = |at| percentile(ours, at).saturating_sub(percentile(raw, at));
    let within = more(50) <= p50 && p95.is_none_or(|p95| more(95) <= p95);
    let ratio = percentile(ours, 50).as_secs_f64() / percentile(raw, 50).as_secs_f64();
    let bound = match p95 {
        Some(p95) => format!("{} ({})", millis(p50), millis(p95)),
        None => millis(p50),
    };
    println!(
        "{server}: {what}: ours {} ({}), raw {} ({}), more {} ({}), ratio {ratio:.2}; bound {bound}: {}",
        millis(percentile(ours, 50)),
        millis(percentile(ours, 95)),
        millis(percentile(raw, 50)),
        millis(percentile(raw, 95)),
        millis(more(50)),
        millis(more(95)),
        if within { "met" } else { "MISSED" },
    );
}

fn percentile(taken: &[Duration], percent: usize) -> Duration {
    let mut sorted = taken.to_vec();
    sorted.sort_unstable();
    sorted[(sorted.len() - 1) * percent / 100]
}

fn millis(duration: Duration) -> String {
    format!("{:.2}", duration.as_secs_f64() * 1000.0)
}

fn runtime() -> tokio::runtime::Runtime {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(2).enable_all().build().unwrap()
}

/// Where the program is, as a shell would find it.
fn which(live: &Live) -> std::path::PathBuf {
    let program = live.program();
    if program.is_absolute() {
        return program;
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut found = std::env::split_paths(&path).map(|folder| folder.join(&program));
    found.find(|program| program.exists()).expect("it is there")
}

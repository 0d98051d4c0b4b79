//! A server that publishes without end, before it answers: how long that holds a call up, and what it leaves in memory.

use std::{
    fs,
    time::{Duration, Instant},
};

use agent_testkit::lsp::{Script, Step, Toy};

use crate::{
    fixture::{PULL, Setup, row},
    millis, percentile, runtime,
};

/// How often it is measured.
const ROUNDS: usize = 5;

/// What is published before the first answer.
const PUBLISHES: u64 = 10_000;
const BYTES: usize = 1_000;

/// How long that may take.
const BOUND: Duration = Duration::from_secs(1);

pub(crate) fn measure() {
    let (quiet, _) = rounds(0);
    let (flooded, grown) = rounds(PUBLISHES);
    let more = percentile(&flooded, 50).saturating_sub(percentile(&quiet, 50));
    println!(
        "{PUBLISHES} publishes of {BYTES} bytes: {} ms more until the first answer, {} KiB more memory at the most; bound {} ms: {}",
        millis(more),
        grown / 1024,
        millis(BOUND),
        if more <= BOUND { "met" } else { "MISSED" },
    );
}

/// How long the start and the first answer took, and by how many bytes this process grew in the worst round.
fn rounds(publishes: u64) -> (Vec<Duration>, usize) {
    let runtime = runtime();
    let mut grown = 0;
    let taken = (0..ROUNDS).map(|_| {
        let flood = Step::Flood { publishes, bytes: BYTES };
        let script = Script::toy("toy", Toy::pull()).on("textDocument/didOpen", [flood]);
        let setup = Setup::new([row(script).wait(PULL)]).file("a.toy", "area\ndef area\n");
        runtime.block_on(async {
            let checkout = setup.make();
            let (before, begun) = (resident(), Instant::now());
            checkout.hover("a.toy", 1, "area").await;
            let taken = begun.elapsed();
            grown = grown.max(resident().saturating_sub(before));
            checkout.lsp.close().await;
            taken
        })
    });
    (taken.collect(), grown)
}

/// The memory of this process that is in use, in bytes; 0 where the system does not tell.
fn resident() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<usize>().ok());
    kilobytes.unwrap_or(0) * 1_024
}

//! One trial for each case of the fixtures.

#![expect(clippy::unwrap_used, reason = "a trial that cannot be set up has failed")]

mod answers;
mod cases;
mod differential;
mod distinct;
mod ladder;

use libtest_mimic::Arguments;

fn main() {
    let arguments = Arguments::from_args();
    let trials = [
        cases::trials(),
        differential::trials(),
        distinct::trials(),
        answers::trials(),
        ladder::trials(),
    ]
    .into_iter()
    .flatten()
    .collect();
    libtest_mimic::run(&arguments, trials).exit();
}

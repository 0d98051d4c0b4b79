//! One trial for each case of the fixtures.

mod cases;
mod ladder;

use libtest_mimic::Arguments;

fn main() {
    let arguments = Arguments::from_args();
    let trials = [cases::trials(), ladder::trials()].into_iter().flatten().collect();
    libtest_mimic::run(&arguments, trials).exit();
}

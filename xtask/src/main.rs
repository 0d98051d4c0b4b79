//! The project's chores, one command each. Depends on no crate of ours, so that a chore works when
//! a crate does not build.

mod bench;
mod ci;
mod deps;
mod docs;
mod features;
mod fixtures;
mod setup;
mod sh;
mod spec;
mod test;
mod tour;

use std::process::ExitCode;

use anyhow::{Result, bail};

const HELP: &str = "\
cargo xtask COMMAND

  setup                     installs what the live tests need into .tools/
  tour                      sets up and runs the main job on a copy of the example project
  test                      sets up and runs every test
  fixtures [FILTER] [--bless]
                            runs the fixture cases whose name holds FILTER
  fixtures --cells FILE.json [FILTER]
                            judges the cells of a file against a built agent-run
  spec                      every statement of docs/spec.md with the tests that claim it
  deps                      holds the crates to the arrows of docs/ARCHITECTURE.md
  features                  checks the features: none, each, all
  docs [--check]            generates docs/reference from the tools' specs
  bench [NAME]              measures against the peers and prints ratios
  ci                        all of the checks, with the minutes that each took
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match chore(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn chore(args: &[&str]) -> Result<()> {
    std::env::set_current_dir(sh::root())?;
    match args {
        ["setup"] => setup::setup(),
        ["tour"] => tour::tour(),
        ["test"] => test::test(),
        ["fixtures", rest @ ..] => fixtures::fixtures(rest),
        ["spec"] => spec::spec(),
        ["deps"] => deps::deps(),
        ["features"] => features::features(),
        ["docs"] => docs::docs(docs::Mode::Write),
        ["docs", "--check"] => docs::docs(docs::Mode::Check),
        ["bench", names @ ..] => bench::bench(names),
        ["ci"] => ci::ci(),
        ["help" | "--help" | "-h"] | [] => {
            print!("{HELP}");
            Ok(())
        }
        other => bail!("there is no command `{}`\n\n{HELP}", other.join(" ")),
    }
}

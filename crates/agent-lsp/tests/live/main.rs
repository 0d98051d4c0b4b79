//! The same suite for each language server of the CI, run as it is. `cargo xtask setup` installs them.
//!
//! A server that is not there is reported as ignored, with the reason; with `AGENT_TESTS_LIVE` set it
//! is a failure. Servers run one after the other, and no time is ever asserted.

#![expect(
    clippy::unwrap_used,
    reason = "these are tests, under a harness that clippy does not know"
)]

mod beside;
mod checks;
mod ends;
mod hostile;
mod killed;
mod languages;
mod places;
mod queries;
mod rename;
mod reports;
mod servers;
mod session;
mod writes;

use std::{
    env, fs,
    future::Future,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    pin::Pin,
    process::Command,
};

use agent_testkit::processes::Left;
use libtest_mimic::{Arguments, Completion, Failed, Trial};

use crate::servers::Live;

/// Set where every server must be there.
const LIVE: &str = "AGENT_TESTS_LIVE";

type Case = fn(&'static Live) -> Pin<Box<dyn Future<Output = ()>>>;

/// The cases of these names in these modules.
macro_rules! cases {
    ($($module:ident::{$($name:ident),* $(,)?})*) => {
        [$($((stringify!($name), (|live| Box::pin($module::$name(live))) as Case)),*),*]
    };
}

fn main() {
    agent_process::guard::main_if_asked();
    killed::main_if_asked();
    run_with_trap();
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(1);
    let suite = cases! {
        queries::{
            places_and_words_of_a_symbol,
            every_use_is_named,
            symbols_of_a_file_and_of_the_workspace,
            quick_fixes_are_listed,
        }
        writes::{
            a_break_is_told_once_a_move_not_and_a_fix_is_told,
            what_is_broken_at_the_start_is_told,
            a_signature_breaks_the_other_file,
            a_first_write_is_not_confirmed_for_files_that_it_breaks,
            a_missing_file_is_made_and_deleted,
            a_change_behind_our_back_is_seen,
        }
        rename::{
            every_use_is_renamed_and_back,
            a_name_that_is_none_changes_nothing,
        }
        places::{
            a_root_with_a_strange_name,
            characters_before_the_symbol,
        }
        ends::{
            nothing_is_left_after_a_drop,
            nothing_is_left_after_a_close,
        }
    };
    let mut trials = Vec::new();
    for live in servers::ALL {
        trials.extend(suite.iter().map(|(name, case)| trial(live, name, *case)));
    }
    let folder: Case = |live| Box::pin(writes::a_folder_made_behind_our_back_is_seen(live));
    trials.push(trial(&servers::TY, "a_folder_made_behind_our_back_is_seen", folder));
    let unopened: Case =
        |live| Box::pin(writes::a_signature_breaks_a_file_that_nobody_opened(live));
    for live in [&servers::BASEDPYRIGHT, &servers::TSC, &servers::TYPESCRIPT_LANGUAGE_SERVER] {
        trials.push(trial(live, "a_signature_breaks_a_file_that_nobody_opened", unopened));
    }
    let lost: Case =
        |live| Box::pin(writes::what_a_first_write_breaks_is_not_lost_by_a_second(live));
    for live in
        [&servers::BASEDPYRIGHT, &servers::TY, &servers::TSC, &servers::TYPESCRIPT_LANGUAGE_SERVER]
    {
        trials.push(trial(live, "what_a_first_write_breaks_is_not_lost_by_a_second", lost));
    }
    let alias: Case = |live| Box::pin(rename::an_alias_is_renamed_where_it_stands(live));
    for live in servers::ALL
        .into_iter()
        .filter(|live| ["python", "typescript", "rust"].contains(&live.language.folder))
    {
        trials.push(trial(live, "an_alias_is_renamed_where_it_stands", alias));
    }
    let exported: Case =
        |live| Box::pin(rename::a_rename_goes_through_what_is_exported_again(live));
    let kept: Case = |live| Box::pin(rename::what_keeps_the_old_name_is_said(live));
    for live in [&servers::TSC, &servers::TYPESCRIPT_LANGUAGE_SERVER] {
        trials.push(trial(live, "a_rename_goes_through_what_is_exported_again", exported));
        trials.push(trial(live, "what_keeps_the_old_name_is_said", kept));
    }
    for (live, name, case) in special() {
        trials.push(trial(live, name, case));
    }
    for (id, program, case) in killed::cases() {
        trials.push(trial_of(id, program, "nothing_is_left_after_a_kill", case));
    }
    libtest_mimic::run(&arguments, trials).exit();
}

/// The file in which `fixtures/lsp/path/npm` notes what it is asked.
fn npm_witness() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("npm-was-run")
}

/// Begins anew with that program before the real one on the search path.
fn run_with_trap() {
    const WITNESS: &str = "NPM_WITNESS";
    if env::var_os(WITNESS).is_some() {
        return;
    }
    let _ = fs::remove_file(npm_witness());
    let trap = servers::workspace().canonicalize().unwrap().join("fixtures/lsp/path");
    let path = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths([trap].into_iter().chain(env::split_paths(&path))).unwrap();
    let mut again = Command::new(env::current_exe().unwrap());
    again.args(env::args_os().skip(1)).env("PATH", path).env(WITNESS, npm_witness());
    panic!("{}", again.exec());
}

/// Cases for some of the servers.
fn special() -> impl Iterator<Item = (&'static Live, &'static str, Case)> {
    let all = [checks::cases(), reports::cases(), hostile::cases(), beside::cases()];
    all.into_iter().flatten()
}

fn trial(live: &'static Live, name: &str, case: Case) -> Trial {
    trial_of(live.id, live.program, name, Box::new(move || run(live, case)))
}

fn trial_of(id: &str, program: &'static str, name: &str, case: Box<dyn FnOnce() + Send>) -> Trial {
    Trial::ignorable_test(format!("{id}::{name}"), move || {
        if let Err(why) = servers::is_there(program) {
            return match env::var_os(LIVE) {
                Some(_) => Err(Failed::from(why)),
                None => Ok(Completion::ignored_with(why)),
            };
        }
        case();
        Ok(Completion::Completed)
    })
}

fn run(live: &'static Live, case: Case) {
    let left = Left::count();
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(case(live));
    drop(runtime);
    left.none_within_a_while();
}

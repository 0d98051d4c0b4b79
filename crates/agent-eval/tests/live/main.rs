//! The interpreters as they are, in a run of a test's own. `cargo xtask setup` installs them.
//!
//! Each case ends with nothing left of what it started. What is not there is reported as ignored, with the reason; with
//! `AGENT_TESTS_LIVE` set it is a failure.

#![expect(
    clippy::unwrap_used,
    reason = "these are tests, under a harness that clippy does not know"
)]

mod bridge;
mod display;
mod ends;
mod environment;
mod isolation;
mod oracle;
mod robust;
mod session;
mod state;
mod time;
mod valid;

use std::{env, future::Future, path::Path, pin::Pin};

use agent_testkit::processes::Left;
use libtest_mimic::{Arguments, Completion, Failed, Trial};

/// Set where everything must be there.
const LIVE: &str = "AGENT_TESTS_LIVE";

type Case = fn() -> Pin<Box<dyn Future<Output = ()>>>;

/// The cases of these names in these modules, and the programs that they need.
macro_rules! cases {
    ($($module:ident needs $needs:expr => { $($name:ident),* $(,)? })*) => {
        [$($((stringify!($module), stringify!($name), $needs, (|| Box::pin($module::$name())) as Case)),*),*]
    };
}

fn main() {
    agent_process::guard::main_if_asked();
    if env::var_os(ends::HOST).is_some() {
        ends::be_host();
    }
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(1);
    let none: &[&str] = &[];
    let cases = cases! {
        state needs none => {
            variables_imports_and_data_stay_in_both_languages,
            a_reset_begins_anew_and_holds_though_the_cell_fails,
            a_dead_interpreter_is_reported_with_its_last_words_and_no_cell_runs_twice,
            an_interpreter_that_ended_between_cells_is_reported_and_the_cell_is_not_run,
            a_cell_that_is_cancelled_is_interrupted_and_the_next_one_says_so,
            a_cell_is_interrupted_from_elsewhere,
            a_cancelled_cell_that_had_to_be_killed_is_said,
            what_is_shown_between_cells_is_said_to_be,
            a_declaration_that_did_not_come_to_its_end_is_no_variable,
            an_error_of_what_an_earlier_cell_began_costs_no_result,
            a_cell_that_cannot_be_read_says_that_nothing_ran,
            an_awaiting_loop_ends_with_the_first_interrupt,
        }
        environment needs none => {
            names_of_the_standard_library_in_the_checkout_do_not_break_the_start,
            the_virtual_environment_is_the_persons_then_the_trusted_checkouts,
            an_environment_that_is_not_trusted_is_named,
            a_file_with_types_is_imported_or_what_to_do_is_said,
            what_does_not_become_an_interpreter_says_what_it_said,
            secrets_of_the_environment_do_not_reach_a_cell,
            limits_hold,
            pip_that_the_system_manages_names_a_virtual_environment,
        }
        bridge needs none => {
            a_call_has_the_cell_as_its_parent_and_its_result_is_a_value,
            eval_in_a_cell_is_a_conflict_at_once,
            a_cell_that_is_stopped_fails_its_calls_first,
            a_call_has_a_bound_of_its_own,
            a_failed_call_of_a_worker_process_is_the_cells_error,
            a_call_between_cells_is_refused,
            there_is_no_port_no_named_socket_and_no_secret,
        }
        time needs none => {
            a_bridged_call_suspends_the_budget,
            output_that_is_not_kept_buys_no_time,
            what_an_interrupt_keeps_is_named_and_what_a_kill_loses_is_said,
        }
        ends needs none => {
            nothing_is_left_after_a_reset_a_close_or_a_drop,
            nothing_is_left_while_c_code_holds_the_lock,
            nothing_is_left_after_a_crash,
            nothing_is_left_after_the_program_is_killed,
        }
        robust needs none => {
            every_hostile_cell_has_one_result_and_the_interpreter_lives,
        }
        display needs none => {
            figures_are_shown_once_also_after_an_error,
            images_of_each_kind_are_image_parts,
            tables_are_bounded_and_the_model_gets_text,
            charts_come_as_bundles,
            what_is_left_out_is_counted_in_all,
            a_display_is_updated_and_cleared,
            packages_that_are_upgraded_are_imported_anew,
        }
        oracle needs none => {
            cells_are_what_ipython_shows,
        }
        valid needs none => {
            valid_python_is_never_changed,
            spliced_idioms_become_what_ipython_makes_of_them,
        }
        isolation needs &["/usr/bin/bwrap"] => {
            bubblewrap_keeps_the_network_and_the_files_away_and_ends_what_left,
        }
        isolation needs &["/usr/sbin/sshd"] => {
            another_machine_by_ssh,
        }
        isolation needs none => {
            a_container_by_a_stub,
            an_environment_that_is_down_is_an_error_and_never_the_host,
            a_sandbox_that_runs_nothing_is_named,
        }
    };
    let trials = cases.into_iter().map(|(module, name, needs, case)| {
        Trial::ignorable_test(format!("{module}::{name}"), move || {
            let python = session::python();
            let missing = [python.to_str().unwrap()].into_iter().chain(needs.iter().copied());
            let missing: Vec<_> = missing.filter(|path| !Path::new(path).exists()).collect();
            if !missing.is_empty() {
                let why =
                    format!("{} is not there; run `cargo xtask setup`", missing.join(" and "));
                return match env::var_os(LIVE) {
                    Some(_) => Err(Failed::from(why)),
                    None => Ok(Completion::ignored_with(why)),
                };
            }
            run(case);
            Ok(Completion::Completed)
        })
    });
    libtest_mimic::run(&arguments, trials.collect()).exit();
}

fn run(case: Case) {
    let left = Left::count();
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(case());
    drop(runtime);
    left.none_within_a_while();
}

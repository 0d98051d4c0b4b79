//! The bridge against scripted servers and, where they are installed, the official SDKs'.

#![expect(clippy::unwrap_used, reason = "a helper of tests fails as a test does")]

mod bad;
mod calls;
mod ends;
mod hangs;
mod lists;
mod live;
mod person;
mod preview;
mod support;

use std::{env, future::Future, os::unix::process::CommandExt, process::Command};

use libtest_mimic::{Arguments, Trial};

/// Trials named as their functions, each on a runtime of its own.
macro_rules! trials {
    ($($module:ident: $($name:ident)+;)+) => {
        vec![$($(Trial::test(concat!(stringify!($module), "::", stringify!($name)), || {
            on_a_runtime($module::$name());
            Ok(())
        })),+),+]
    };
}

/// Trials of a real server. Without it they are ignored, or fail where nothing may be missing.
macro_rules! live {
    ($trials:ident: $($name:ident)+) => {
        let missing = live::missing();
        if let Some(why) = &missing {
            eprintln!("live is not run: {why}");
        }
        let ignored = missing.is_some() && env::var_os(LIVE).is_none_or(|live| live != "1");
        $($trials.push(
            Trial::test(concat!("live::", stringify!($name)), || {
                on_a_runtime(live::$name());
                Ok(())
            })
            .with_ignored_flag(ignored),
        );)+
    };
}

/// Where it is 1, a live test whose program is missing fails.
const LIVE: &str = "AGENT_TESTS_LIVE";

fn main() {
    agent_process::guard::main_if_asked();
    agent_testkit::mcp::main_if_asked();
    run_with_a_secret();
    let mut trials = trials! {
        calls:
            a_server_of_either_revision_is_listed_and_called
            each_request_of_the_stateless_revision_says_what_it_needs
            a_tool_is_exec_unless_its_person_says_otherwise
            arguments_that_cannot_be_right_are_not_sent
            what_a_servers_schema_allows_reaches_it
            a_result_is_held_to_the_servers_own_promise
            a_text_that_says_something_else_than_its_structure_is_told
            a_failure_is_told_in_the_servers_words_as_data
            what_a_server_returns_is_cleaned_and_marked
            progress_is_told_and_never_backwards
            a_server_gets_its_own_variables_and_no_key_of_the_run
            what_a_server_was_given_as_a_secret_is_read_by_nobody
            a_secret_in_json_or_under_a_colour_is_read_by_nobody
            a_program_of_an_untrusted_checkout_is_no_server;
        lists:
            one_bad_tool_is_left_out_and_not_the_server
            tools_with_the_same_name_on_two_servers_are_told_apart
            a_tool_that_takes_the_name_of_another_one_is_left_out_and_named
            a_list_goes_over_its_pages
            a_list_without_end_is_cut_and_that_is_said
            a_page_that_never_comes_cuts_the_list;
        bad:
            a_silent_server_costs_its_time_and_no_other_server
            a_server_that_dies_says_how_with_its_last_words
            a_server_that_dies_at_what_it_does_not_know_is_greeted_in_the_old_way
            an_answer_that_comes_late_counts
            a_revision_that_nobody_knows_is_named
            what_revision_a_server_names_is_said_as_it_is
            lines_that_are_no_messages_are_passed_over_and_told
            a_flood_that_does_not_end_ends_the_server
            a_server_that_reads_nothing_holds_nobody_up
            errors_without_ids_are_taken_for_what_they_answer
            a_call_that_dies_with_its_server_has_an_unknown_fate_and_is_not_repeated
            a_server_that_died_is_started_again_for_the_next_call
            starts_that_fail_are_further_and_further_apart
            a_pause_that_is_longer_than_the_call_is_said
            a_call_that_takes_too_long_is_cancelled_and_its_fate_is_unknown
            a_call_that_is_dropped_is_cancelled
            an_answer_that_cannot_be_read_fails_its_call_at_once
            an_answer_that_is_too_large_fails_its_call_at_once;
        hangs:
            a_server_that_hangs_is_ended_and_started_again_for_the_next_call
            a_server_that_is_gone_after_its_list_is_found_out_by_who_asks
            what_a_server_tells_while_it_hangs_does_not_save_it
            a_call_with_less_time_than_the_question_says_so_and_a_later_one_gets_through
            a_call_whose_time_is_not_over_is_not_ended_for_another_one
            a_server_that_answers_another_call_meanwhile_is_not_hung;
        ends:
            a_bridge_that_is_dropped_leaves_no_process
            a_server_is_ended_by_the_end_of_its_input_first
            a_connection_that_comes_to_nothing_leaves_no_process;
        person:
            a_question_is_asked_on_the_cards_and_answered
            without_a_person_no_server_is_told_that_there_is_one
            no_answer_chooses_for_a_person
            who_leaves_all_fields_out_has_not_agreed
            a_question_that_is_no_form_is_not_shown
            a_card_goes_with_its_call
            who_declined_is_not_asked_again_by_the_same_call
            each_line_of_a_servers_words_on_a_card_has_the_margin
            what_a_number_takes_is_said_before_it_is_asked_for
            a_choice_that_is_a_secret_goes_back_as_it_is_and_is_shown_to_nobody
            a_server_that_asks_without_end_is_stopped;
        preview:
            a_card_shows_the_earlier_result_that_gave_the_value_out
            what_is_quoted_is_bounded_and_of_the_same_server
            what_stands_around_the_value_is_quoted_wherever_it_stands
            every_tool_that_gave_the_value_out_is_on_the_card
            an_id_that_an_error_gave_out_is_quoted_and_a_good_result_comes_before_it
            a_value_whose_result_is_forgotten_is_said_to_be;
    };
    live! { trials:
        the_python_sdks_server_in_both_revisions
        the_typescript_sdks_server_in_both_revisions
        the_python_sdks_server_asks_a_person
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

/// What the run's environment has, and no server may.
pub(crate) const SECRET: (&str, &str) = ("AGENT_MCP_TEST_TOKEN", "tok-of-the-run");

/// Becomes this program with the secret in its environment.
fn run_with_a_secret() {
    if env::var_os(SECRET.0).is_none() {
        let program = env::current_exe().unwrap();
        panic!(
            "{}",
            Command::new(program).args(env::args_os().skip(1)).env(SECRET.0, SECRET.1).exec()
        );
    }
}

fn on_a_runtime(test: impl Future<Output = ()>) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.unwrap().block_on(test);
}

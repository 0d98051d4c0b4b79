//! The crate against a scripted language server: what goes over the wire, and what a model reads.

#![expect(clippy::unwrap_used, reason = "a helper of tests fails as a test does")]

mod fixture;
mod queries;
mod supervisor;
mod transport;

use std::future::Future;

use libtest_mimic::{Arguments, Trial};

/// Trials named as their functions.
macro_rules! trials {
    ($($module:ident: $($name:ident)+;)+) => {
        vec![$($(Trial::test(stringify!($name), || {
            on_a_runtime($module::$name());
            Ok(())
        })),+),+]
    };
}

fn main() {
    agent_testkit::lsp::main_if_asked();
    let trials = trials! {
        transport:
            a_message_with_a_flaw_is_read
            what_is_no_message_costs_no_call
            diagnostics_of_odd_shapes_are_read
            a_server_that_writes_before_it_reads_is_drained
            a_server_that_reads_nothing_costs_a_call_its_time_and_no_more
            a_dropped_call_is_cancelled_and_its_late_answer_harms_nothing
            a_call_that_ran_out_of_time_is_cancelled
            a_request_of_the_server_is_answered_whatever_its_id_is
            every_request_of_the_server_is_answered
            an_answer_with_its_id_as_a_text_is_taken
            a_message_over_the_cap_is_passed_over
            an_answer_over_the_cap_fails_its_call_at_once
            a_crash_in_the_middle_of_an_answer_is_told_with_its_exit_and_last_words
            a_server_whose_output_is_held_open_is_gone_with_its_process;
        supervisor:
            twenty_first_calls_start_one_process
            the_root_is_told_in_all_three_ways
            two_roots_have_a_process_each
            a_start_that_takes_long_is_said_and_goes_on
            a_server_that_exits_at_once_says_why_and_is_not_tried_again_at_once
            a_crash_fails_the_pending_calls_and_a_restart_opens_the_documents_again
            after_three_crashes_nothing_is_started_before_a_reload
            a_marker_without_a_binary_starts_nothing
            a_binary_that_cannot_run_is_no_binary
            a_binary_without_a_marker_starts_nothing
            a_file_that_no_server_takes_is_said
            reload_restarts_the_servers_of_a_root
            reload_finds_a_program_that_was_installed_meanwhile
            an_idle_server_is_ended_and_a_busy_one_is_spared
            close_leaves_no_process
            dropping_everything_leaves_no_process
            a_start_that_hangs_leaves_no_process
            a_server_that_ignores_shutdown_and_the_end_of_its_input_is_killed;
        queries:
            columns_are_those_of_the_encoding_that_was_agreed_on
            occurrences_that_mean_the_same_are_no_ambiguity
            a_call_with_wrong_arguments_says_which
            each_question_about_a_place_has_its_own_answer
            code_actions_are_listed_and_nothing_is_applied
            references_are_cut_at_fifty_with_the_total
            symbols_are_cut_at_their_limits_with_the_total
            a_search_of_the_workspace_starts_the_server_that_its_files_have
            places_outside_of_the_workspace_come_after_those_inside
            what_is_empty_while_the_server_reads_the_project_is_asked_again
            references_wait_until_the_project_is_read
            a_server_that_reads_for_longer_than_a_call_waits_is_not_ready
            a_server_that_cannot_read_the_project_answers_partially
            a_search_over_several_servers_says_which_evidence_it_has
            an_answer_that_is_out_of_date_is_asked_for_again
            what_a_server_cannot_do_is_said
            what_a_server_registers_a_little_later_is_asked_for
            a_file_that_was_changed_behind_our_back_is_sent_first
            a_file_that_is_gone_is_closed_and_told_as_deleted
            a_file_that_a_shell_made_is_told_as_created
            documents_that_were_not_asked_for_longest_are_closed;
    };
    let mut arguments = Arguments::from_args();
    // Each has processes of its own, and what they measure is not the machine's load.
    arguments.test_threads.get_or_insert(4);
    libtest_mimic::run(&arguments, trials).exit();
}

fn on_a_runtime(test: impl Future<Output = ()>) {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(2).enable_all().build().unwrap().block_on(test);
}

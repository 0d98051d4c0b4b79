//! The crate against a scripted language server: what goes over the wire, and what a model reads.
//!
//! 34 public reports of language servers under agents and editors (stale or missing diagnostics, false
//! "clean", hangs, orphans, partial and shifted renames) have each a test, here, in `tests/it` or in
//! `tests/live`. They are numbered; `// report: D18` above a test says which it answers, and
//! `reports::every_report_is_named_by_a_test` in `tests/it` fails when one has none.

#![expect(clippy::unwrap_used, reason = "a helper of tests fails as a test does")]

mod beside;
mod compiler;
mod configured;
mod diagnostics;
mod fixture;
mod late;
mod queries;
mod rename;
mod supervisor;
mod transport;
mod writes;

use std::{env, future::Future, os::unix::process::CommandExt, process::Command};

use libtest_mimic::{Arguments, Trial};

/// What the run's environment has, and no server may.
pub(crate) const SECRETS: [(&str, &str); 5] = [
    ("ANTHROPIC_API_KEY", "sk-1"),
    ("OPENAI_API_KEY", "sk-2"),
    ("GITHUB_TOKEN", "gh-3"),
    ("AWS_SECRET_ACCESS_KEY", "aws-4"),
    ("NPM_CONFIG__AUTHTOKEN", "npm-5"),
];

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
    run_with_secrets();
    let trials = trials! {
        transport:
            a_message_with_a_flaw_is_read
            what_is_no_message_costs_no_call
            diagnostics_of_odd_shapes_are_read
            a_server_that_writes_before_it_reads_is_drained
            a_server_that_reads_nothing_costs_a_call_its_time_and_no_more
            a_server_that_has_long_read_nothing_is_asked_nothing_and_said_to_be_stuck
            a_server_too_far_behind_is_ended_and_that_is_said
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
            what_would_run_what_an_untrusted_checkout_names_is_not_started
            keys_and_tokens_do_not_reach_a_server
            a_program_of_the_root_that_is_found_comes_first
            a_start_that_takes_long_is_said_and_goes_on
            a_server_that_exits_at_once_says_why_and_is_not_tried_again_at_once
            a_crash_fails_the_pending_calls_and_a_restart_opens_the_documents_again
            after_three_crashes_nothing_is_started_before_a_reload
            a_marker_without_a_binary_starts_nothing
            a_program_that_is_too_old_is_no_program
            what_another_server_stands_in_for_is_missing_in_the_status_alone
            what_a_linter_finds_alone_is_not_all
            a_binary_that_cannot_run_is_no_binary
            a_binary_without_a_marker_starts_nothing
            a_file_that_no_server_takes_is_said
            what_is_no_file_of_the_workspace_is_said_to_be_that
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
            a_server_that_cannot_say_which_is_meant_makes_no_ambiguity
            a_call_with_wrong_arguments_says_which
            each_question_about_a_place_has_its_own_answer
            code_actions_are_listed_and_nothing_is_applied
            references_are_cut_at_fifty_with_the_total
            symbols_are_cut_at_their_limits_with_the_total
            a_search_of_the_workspace_starts_the_server_that_its_files_have
            places_outside_of_the_workspace_come_after_those_inside
            what_is_empty_while_the_server_reads_the_project_is_asked_again
            references_wait_until_the_project_is_read
            references_wait_until_it_is_logged_that_the_files_are_known
            a_server_that_knows_open_files_alone_is_shown_those_with_the_name
            a_server_that_searches_no_workspace_is_not_taken_for_one_that_finds_nothing
            a_server_that_reads_for_longer_than_a_call_waits_is_not_ready
            a_server_that_cannot_read_the_project_answers_partially
            a_search_over_several_servers_says_which_evidence_it_has
            an_answer_that_is_out_of_date_is_asked_for_again
            what_is_empty_because_the_inner_server_is_dead_is_no_answer
            what_is_empty_is_no_answer_where_the_inner_server_cannot_be_asked
            what_a_server_cannot_do_is_said
            what_a_server_registers_a_little_later_is_asked_for
            a_file_that_was_changed_behind_our_back_is_sent_first
            a_file_that_is_gone_is_closed_and_told_as_deleted
            what_changes_in_a_cache_is_not_told
            a_file_that_a_shell_made_is_told_as_created
            a_file_that_is_replaced_is_told_as_changed
            a_server_is_told_of_the_files_that_it_registered_for
            what_changed_before_a_server_registered_for_it_is_told_all_the_same
            documents_that_were_not_asked_for_longest_are_closed;
        diagnostics:
            every_way_of_telling_gives_errors_and_warnings_and_clean
            a_server_that_registers_late_is_asked_all_the_same
            what_a_server_takes_back_is_waited_for
            what_is_found_with_old_headers_is_not_taken_as_final
            lists_of_a_check_that_came_out_of_order_are_not_taken_for_it
            a_first_incomplete_publish_is_not_taken_as_final
            silence_is_unknown_and_never_clean
            a_list_that_did_not_change_and_is_not_published_again_is_not_confirmed
            what_was_published_for_the_text_before_is_not_taken_for_this_one
            an_answer_that_came_late_for_a_write_is_not_read_from_before_it
            the_empty_list_after_a_close_is_not_clean
            a_crash_while_diagnostics_are_waited_for_is_unknown_with_its_reason
            a_server_and_a_linter_are_merged
            one_server_of_two_that_says_nothing_leaves_it_unknown
            an_untrusted_checkout_is_not_compiled_and_that_is_said
            the_projects_own_check_is_run_and_read
            a_project_without_a_check_says_what_it_has_no_marker_of
            ten_thousand_publishes_cost_no_answer
            publishes_for_more_files_than_are_kept_are_counted;
        compiler:
            the_check_of_an_earlier_write_is_not_taken_for_that_of_this_one
            a_check_that_begins_when_it_was_given_up_is_not_taken_for_the_next
            a_batch_is_checked_by_one_check_of_everything
            a_check_that_could_not_run_is_not_clean
            what_depends_on_a_crate_with_errors_is_not_clean
            a_check_that_ends_with_a_build_script_is_not_clean;
        writes:
            a_write_tells_what_it_broke_and_what_it_fixed
            what_was_broken_before_the_first_write_is_not_news
            what_another_hand_may_have_fixed_is_credited_to_no_write_alone
            a_second_diagnostic_of_the_same_words_is_new
            what_was_asked_for_is_known
            a_baseline_that_is_missing_leaves_errors_in_doubt
            new_errors_of_other_files_are_told
            files_that_nobody_opened_are_told_where_the_server_publishes_for_them
            a_batch_of_files_is_settled_once
            a_check_that_the_next_save_cut_short_is_not_taken_for_the_whole
            created_files_are_announced_and_deleted_ones_forgotten
            a_server_is_told_of_a_file_only_once_it_is_there
            a_server_that_never_publishes_is_pending_and_never_clean
            what_a_command_changed_is_known_where_the_file_was_open
            a_write_during_a_servers_start_returns_within_its_budget
            a_server_that_is_stuck_or_gone_never_makes_an_error_of_a_write
            an_untrusted_checkout_gets_what_needs_no_code_of_it_and_is_told_of_the_rest
            a_file_without_a_server_costs_no_process_and_no_word
            a_server_and_a_linter_are_merged_on_a_write
            a_linter_that_hangs_does_not_hold_back_the_server
            parallel_writes_tell_each_its_own
            a_server_that_was_restarted_tells_nothing_twice
            a_save_waits_until_the_server_has_read_the_project
            what_a_server_says_of_other_projects_is_not_told
            a_save_follows_each_change;
        beside:
            a_clean_write_says_that_other_files_have_errors
            open_files_that_are_too_many_to_ask_about_are_named
            files_that_name_what_a_write_changes_are_opened_and_looked_at
            a_first_write_tells_what_it_breaks_in_files_that_nobody_opened
            a_server_that_names_nothing_leaves_other_files_unknown
            what_a_write_could_not_look_at_is_looked_at_with_the_next
            what_was_written_before_a_server_ran_is_looked_at_with_the_next_write
            a_file_that_goes_is_looked_for_by_its_name
            a_deletion_is_unknown_while_a_server_is_not_ready;
        configured:
            a_file_that_configures_a_server_has_the_open_files_looked_at
            an_answer_by_the_configuration_from_before_is_waited_out
            a_server_that_keeps_its_configuration_is_started_anew
            what_a_server_that_starts_anew_finds_late_is_of_its_configuration;
        late:
            what_settles_late_comes_with_the_next_result_and_once
            what_settles_late_is_data_too
            a_late_clean_names_its_file
            a_write_that_settles_late_tells_of_files_that_nobody_opened
            other_files_that_do_not_settle_are_pending_and_told_late
            other_files_are_looked_at_when_a_written_one_settles_late
            what_settles_late_is_dropped_when_the_file_was_written_again;
        rename:
            a_rename_reaches_every_file_and_back_again
            a_use_is_renamed_from_its_definition
            an_alias_is_renamed_where_it_stands
            a_name_that_is_taken_is_told_before_and_after
            a_rename_is_exact_in_each_encoding
            a_rename_of_open_files_alone_is_refused_by_the_references
            what_neither_the_rename_nor_the_references_reach_is_told
            an_edit_of_nothing_is_a_failure
            an_edit_for_an_older_version_changes_nothing
            a_file_that_changes_while_the_server_thinks_is_not_overwritten
            nothing_moves_where_the_server_fails_to_say_what_a_move_breaks
            an_edit_given_twice_is_made_once_and_one_beside_the_name_never
            a_rename_waits_until_the_project_is_read;
    };
    let mut arguments = Arguments::from_args();
    // Each has processes of its own, and what they measure is not the machine's load.
    arguments.test_threads.get_or_insert(4);
    libtest_mimic::run(&arguments, trials).exit();
}

/// Begins anew with keys in the environment, as the program has them.
fn run_with_secrets() {
    if SECRETS.iter().any(|(name, value)| env::var(name).as_deref() != Ok(value)) {
        let program = env::current_exe().unwrap();
        let error = Command::new(program).args(env::args_os().skip(1)).envs(SECRETS).exec();
        panic!("{error}");
    }
}

fn on_a_runtime(test: impl Future<Output = ()>) {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(2).enable_all().build().unwrap().block_on(test);
}

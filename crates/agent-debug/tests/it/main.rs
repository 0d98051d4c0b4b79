//! The debugger against recordings, a scripted adapter and, where they are installed, the real ones.

#![expect(clippy::unwrap_used, reason = "a helper of tests fails as a test does")]

mod live;
mod replay;
mod scripted;
mod support;

use libtest_mimic::{Arguments, Trial};

use crate::scripted::{bounds, dangers, ends, handshake, model, operations, trust};

/// Trials named as their functions.
macro_rules! trials {
    ($($module:ident: $($name:ident)+;)+) => {
        vec![$($(Trial::test(concat!(stringify!($module), "::", stringify!($name)), || {
            $module::$name();
            Ok(())
        })),+),+]
    };
}

/// Trials of a real adapter. Without it they are ignored, or fail where nothing may be missing.
macro_rules! live {
    ($trials:ident, $adapter:literal, $module:ident: $($name:ident)+) => {
        let missing = live::missing($adapter);
        if let Some(why) = &missing {
            eprintln!("live::{} is not run: {why}", stringify!($module));
        }
        let ignored = missing.is_some() && std::env::var_os(LIVE).is_none_or(|live| live != "1");
        $($trials.push(
            Trial::test(concat!("live::", stringify!($module), "::", stringify!($name)), || {
                live::$module::$name();
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
    agent_testkit::dap::main_if_asked();
    if std::env::var_os(bounds::FLOOD).is_some() {
        return bounds::flood();
    }
    if std::env::var_os(ends::HOST).is_some() {
        return ends::host();
    }
    let mut trials = trials! {
        replay:
            no_message_of_a_real_adapter_is_lost
            a_stop_of_a_real_adapter_says_why_and_where
            an_error_of_a_real_adapter_is_in_its_own_words
            odd_messages_are_read_as_far_as_they_go;
        handshake:
            every_manner_stops_at_its_breakpoints_and_says_how_it_ended
            dart_goes_on_from_its_entry_by_itself
            a_stop_at_the_entry_that_stays_is_told
            what_the_launch_says_comes_before_what_the_configuration_says
            a_launch_that_fails_repeats_what_the_adapter_wrote_beside_it
            nothing_is_sent_that_was_not_offered
            exception_filters_are_those_that_are_offered
            an_adapter_may_die_at_any_point_of_its_start
            an_adapter_with_a_number_is_found_and_named;
        dangers:
            an_adapter_that_answers_late_is_asked_again
            locals_that_were_not_read_are_said_not_to_be
            nothing_resumes_before_the_stack_was_answered
            a_stop_that_nobody_was_told_of_is_told_first
            a_stop_before_the_answer_counts
            an_id_of_an_earlier_stop_is_refused_in_those_words
            an_adapter_that_does_not_answer_is_said_to_and_ends
            what_an_adapter_asks_of_us_is_refused_and_the_session_goes_on
            odd_bytes_end_no_session
            an_answer_over_the_cap_fails_its_request_alone
            status_output_pause_and_terminate_are_taken_while_a_continue_waits
            a_resume_that_is_refused_changes_nothing
            a_stop_without_thread_or_stack_is_told_without
            an_adapter_that_talks_is_waited_for;
        operations:
            an_expression_at_a_crash_is_evaluated_in_the_users_frame
            the_spec_is_portable_small_of_tier_exec_and_exclusive
            an_argument_that_an_operation_does_not_take_is_named
            without_a_session_every_operation_says_so
            a_second_session_is_refused_and_one_that_ended_gives_way
            a_crash_comes_back_whole_in_one_call
            each_operation_costs_the_requests_that_it_needs
            conditions_go_to_the_adapter_that_takes_them
            conditions_set_before_a_launch_are_held_to_its_adapter
            breakpoints_wait_again_once_their_session_is_over
            breakpoints_of_a_live_program_are_set_at_once
            a_breakpoint_that_is_set_later_is_told_as_set
            a_thread_that_is_not_there_is_refused_with_those_that_are
            a_statement_is_evaluated_where_an_expression_is_not_enough
            a_pause_that_waits_for_python_says_so
            an_expression_that_fails_is_told_without_the_debuggers_frames
            a_condition_that_fails_at_each_hit_is_told_once
            a_crash_without_a_line_says_what_the_build_lacks
            a_value_that_the_adapter_cut_has_no_count
            what_cannot_be_started_is_refused_before_an_adapter_is;
        bounds:
            a_stack_has_thirty_frames_and_counts_the_rest
            children_are_fifty_and_each_value_is_four_hundred_characters
            output_is_kept_to_its_bound_and_the_rest_is_counted
            a_flood_costs_little_and_loses_no_stop;
        ends:
            a_signal_is_never_told_as_an_exit_code
            an_end_by_an_exception_without_a_stop_says_that_none_was_possible
            terminate_leaves_no_process
            a_dropped_debugger_leaves_no_process
            a_program_that_ends_leaves_no_process
            an_adapter_that_dies_leaves_no_process_and_the_next_launch_works
            an_adapter_that_reads_no_more_is_ended_all_the_same
            thirty_minutes_are_the_end_however_busy_it_is
            a_wait_that_meets_the_limit_is_answered
            a_killed_host_leaves_no_process;
        trust:
            an_untrusted_checkout_starts_no_debuggee
            the_projects_own_interpreter_comes_first_where_it_is_trusted
            an_interpreter_without_debugpy_still_runs_the_program
            an_adapter_needs_its_marker_and_its_program;
        model:
            any_sequence_of_operations_does_as_the_table_says;
    };
    live!(trials, "debugpy", python:
        a_program_stops_at_its_breakpoints_and_is_looked_at
        a_crash_comes_back_in_one_call
        an_exit_code_is_the_answer_of_a_program_that_ends_at_once
        threads_that_stop_together_do_not_hang_the_adapter
        no_child_and_no_daemon_outlives_the_session
        odd_output_and_a_child_and_an_empty_input_are_no_trouble
        conditions_hit_counts_and_log_points_are_the_adapters
        a_file_is_python_by_its_name_or_its_first_line
        a_file_behind_a_link_is_the_same_file
        a_statement_without_a_value_says_so_and_a_kill_may_be_the_exit_code
        an_exception_that_debugpy_lets_pass_comes_with_its_traceback
        a_flood_before_a_crash_is_told_to_its_end_or_said_not_to_be
        large_values_are_shown_in_part);
    live!(trials, "lldb", c:
        a_program_stops_at_its_breakpoints_and_is_looked_at
        a_signal_stops_a_program_and_comes_back_in_one_call
        a_reference_names_the_scope_of_its_own_frame
        a_program_that_a_signal_ended_says_so
        a_condition_that_fails_is_told_with_the_stop_that_it_makes
        a_count_with_an_operator_is_not_set
        a_step_that_was_cut_off_and_ends_later_is_explained
        an_exit_code_is_the_answer_of_a_program_that_ends_at_once
        a_program_that_runs_is_paused_and_one_that_reads_does_not_wait
        no_child_and_no_daemon_outlives_the_session
        a_flood_of_output_ends_as_any_program_does
        threads_are_stopped_and_looked_at);
    live!(trials, "lldb", rust:
        a_panic_stops_a_program_and_comes_back_in_one_call
        values_are_read_right
        large_collections_are_read_within_two_seconds
        a_function_is_stepped_through);
    live!(trials, "delve", go:
        a_program_stops_at_its_breakpoints_and_is_looked_at
        a_panic_stops_a_program_and_comes_back_in_one_call
        an_exit_code_is_the_answer_of_a_program_that_ends_at_once
        a_build_that_fails_says_why
        a_package_that_is_no_program_is_refused_with_what_to_name
        no_child_outlives_the_session);
    live!(trials, "debugpy", attach: a_python_program_is_joined_and_runs_on_afterwards);
    live!(trials, "delve", attach: a_go_program_is_joined_and_runs_on_where_its_server_lets_it);
    live!(trials, "lldb", attach: a_c_program_is_joined_and_its_fate_is_said);
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

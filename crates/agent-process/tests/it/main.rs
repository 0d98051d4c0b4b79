//! Everything with real processes: this program, run again, is the scripted child (see `roles`).

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "these are tests and their scripted child, under a harness that clippy does not know"
)]

mod environment;
mod find;
mod frame;
mod guard;
mod roles;
mod spawn;
mod support;
mod writer;

use libtest_mimic::{Arguments, Trial};

/// A trial for each function, under its own name.
macro_rules! trials {
    ($($module:ident::{$($name:ident),* $(,)?})*) => {
        vec![$($(Trial::test(stringify!($name), || {
            $module::$name();
            Ok(())
        })),*),*]
    };
}

fn main() {
    agent_process::guard::main_if_asked();
    roles::main_if_asked();
    let trials = trials! {
        environment::{
            names_that_read_like_secrets_are_taken_away,
            a_host_adds_names_and_keeps_names,
            a_child_sees_no_key_and_what_its_caller_sets,
            a_closed_program_is_closed_and_what_it_starts_is_not,
        }
        find::{
            the_first_that_answers_is_taken_in_the_order_of_the_search,
            a_local_program_needs_trust_and_is_named_without_it,
            a_search_path_through_the_checkout_finds_nothing_in_it_without_trust,
            a_program_that_is_too_old_is_passed_over,
            a_program_that_exists_and_fails_says_why,
            a_reason_that_several_share_is_said_once,
            a_configured_program_is_the_only_one_tried,
            the_highest_number_is_taken_after_the_mere_names,
            twenty_that_ask_at_once_probe_once_and_forget_asks_again,
            a_probe_runs_in_a_neutral_folder_and_ends_in_time,
        }
        frame::{
            no_bad_message_hides_the_next_one,
            a_message_comes_whole_however_it_is_split,
            any_mix_of_noise_and_splits_gives_the_same_messages,
            odd_input_is_said_with_its_text_clipped,
            a_peer_that_writes_before_it_reads_locks_nobody_up,
        }
        writer::{
            a_peer_that_never_reads_is_told_as_stalled,
            a_stall_says_how_many_bytes_for_how_long,
            a_closed_writer_ends_the_peers_input_and_reading_goes_on,
            an_aborted_writer_closes_at_once_whatever_waits,
            a_peer_that_died_breaks_the_pipe,
            the_last_dropped_writer_writes_what_is_queued,
        }
        spawn::{
            an_exit_is_reported_with_code_signal_and_the_end_of_stderr,
            a_tail_keeps_the_last_lines_of_any_output,
            a_shutdown_goes_only_as_far_as_it_must,
            what_a_process_leaves_behind_is_killed_with_it,
            a_dropped_handle_kills_the_whole_tree_and_leaves_no_zombie,
            a_tree_is_found_wherever_it_moved,
            a_program_with_children_of_its_own_hides_nothing,
            an_interrupt_reaches_the_group,
            what_cannot_start_says_why,
            a_sandbox_rewrites_each_command_or_refuses_it,
            a_run_is_bounded_in_time_and_output,
            a_hundred_starts_leave_nothing,
        }
        guard::{
            a_killed_program_leaves_nothing_behind,
            a_killed_program_leaves_nothing_behind_with_the_shell_guard,
            what_is_started_has_no_terminal,
            a_closed_terminal_leaves_nothing_behind,
            a_program_killed_at_any_moment_of_a_start_leaves_nothing_behind,
            debuggees_go_before_adapters,
            signals_do_not_end_the_guard,
            a_guard_ends_with_its_last_handle,
            a_killed_guard_is_replaced_and_told_of_what_runs,
            an_id_that_was_given_away_is_left_alone,
            what_carries_the_mark_is_killed_though_it_was_never_registered,
            half_a_line_says_nothing,
            a_foreign_debuggee_is_killed_until_it_is_let_go,
        }
    };
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

//! The loop over a model in memory, and over a scripted server that speaks the real formats.

#![expect(clippy::unwrap_used, reason = "a helper of tests fails as a test does")]

mod cancel;
mod context;
mod conversation;
mod many;
mod repeats;
mod retry;
mod steps;
mod support;
mod tools;
#[cfg(feature = "providers")]
mod wire;

use libtest_mimic::{Arguments, Trial};

/// Trials named as their functions.
macro_rules! trials {
    ($run:path; $($module:ident: $($name:ident)+;)+) => {
        vec![$($(Trial::test(concat!(stringify!($module), "::", stringify!($name)), || {
            $run($module::$name());
            Ok(())
        })),+),+]
    };
}

fn main() {
    #[cfg_attr(not(feature = "providers"), expect(unused_mut, reason = "the formats add theirs"))]
    let mut trials = trials! { support::run;
        steps:
            a_turn_calls_and_tells_until_the_model_is_done
            the_model_is_asked_with_the_system_text_and_the_tools_of_that_moment
            the_bound_on_steps_is_said_and_the_work_can_go_on
            an_answer_cut_at_its_bound_says_so
            a_refusal_ends_the_turn_and_makes_no_call
            an_answer_without_content_is_not_kept
            usage_is_counted_and_what_is_unknown_is_not_zero
            the_events_of_a_turn_come_in_order
            a_brief_is_appended_to_and_run_again
            what_a_turn_came_to_is_written_in_words_and_in_json;
        tools:
            an_error_says_what_to_do_next_with_kind_and_code
            an_unknown_tool_is_answered_by_the_dispatch
            malformed_arguments_are_told_and_not_called
            an_empty_text_is_no_arguments
            a_call_cut_at_the_bound_of_the_answer_is_not_made
            a_second_call_under_the_same_id_is_not_made
            ids_that_a_server_uses_again_are_made_unique
            the_calls_of_a_worker_begin_with_its_id
            parallel_calls_overlap
            an_exclusive_call_waits_and_is_waited_for
            many_parallel_calls_are_made_a_few_at_a_time
            an_image_goes_to_the_model_and_a_line_to_one_that_takes_none;
        repeats:
            the_same_call_with_the_same_result_is_told_and_then_ended
            two_calls_in_turns_are_a_repetition_too
            a_result_that_changes_is_no_repetition
            a_test_between_edits_is_no_repetition
            the_order_of_arguments_means_nothing;
        retry:
            a_request_is_made_again_after_waits_that_double_and_vary
            the_wait_that_the_provider_asks_for_is_kept
            a_wait_that_is_too_long_ends_the_turn_and_says_so
            what_cannot_succeed_is_not_tried_again
            after_the_last_time_the_turn_ends_with_what_was_got
            a_model_is_told_that_its_answer_broke_off_with_the_connection
            a_cut_stream_is_asked_for_again_and_its_text_is_void
            no_call_of_a_cut_answer_is_made
            silence_counts_as_a_failure
            a_conversation_that_the_provider_finds_too_long_is_shortened;
        cancel:
            a_turn_dropped_in_the_middle_of_a_text_keeps_the_text
            a_model_is_told_that_its_answer_was_cut_off_and_what_is_known_is_counted
            a_turn_dropped_in_the_middle_of_calls_says_what_is_known_of_each
            a_turn_dropped_in_a_wait_leaves_nothing_behind
            a_cancelled_conversation_goes_on
            a_turn_that_was_never_begun_changes_nothing
            a_turn_that_is_stopped_begins_nothing_more;
        conversation:
            an_open_call_is_answered_with_what_is_known_of_it
            results_without_a_call_and_empty_messages_go
            a_conversation_survives_json
            a_journal_of_events_is_the_conversation
            a_killed_turn_is_gone_on_with;
        context:
            whatever_is_said_is_sent_within_its_bounds
            old_results_are_shortened_first_with_a_mark_that_says_how_much
            then_results_go_then_old_arguments_and_answers
            the_beginning_stays_the_same_for_many_steps
            what_cannot_fit_is_an_error_that_says_so
            the_shortening_is_saved_and_the_conversation_stays_whole;
        many:
            eight_workers_with_a_hundred_calls_each_lose_none
            a_plan_surface_offers_no_tool_that_writes;
    };
    #[cfg(feature = "providers")]
    trials.extend(wire::trials());
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

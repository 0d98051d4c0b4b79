//! Models behind HTTP, against a scripted server: each case in both formats.

mod answers;
mod failures;
mod keys;
mod peer;
mod places;

use agent_testkit::model::Format;
use libtest_mimic::Trial;

use crate::support::run_live;

/// Trials of each format, named as their functions.
macro_rules! both {
    ($($module:ident: $($name:ident)+;)+) => {
        vec![$($(both(concat!("wire::", stringify!($module), "::", stringify!($name)), |format| {
            run_live($module::$name(format));
        })),+),+]
    };
}

pub(crate) fn trials() -> Vec<Trial> {
    let pairs = both! {
        answers:
            text_comes_in_pieces
            calls_come_in_fragments_and_their_results_go_back_paired
            a_call_without_arguments_is_made_with_none
            images_reach_the_server
            usage_is_read_and_what_is_not_said_is_unknown
            malformed_arguments_are_told_and_go_back_as_none
            an_unknown_tool_is_told
            bytes_may_come_in_any_parts
            what_it_thinks_aloud_is_shown_and_goes_back_with_its_calls
            reasons_of_the_end_are_told_apart
            a_plan_surface_offers_no_tool_that_writes
            ids_that_a_server_uses_again_do_no_harm
            a_second_call_under_the_same_id_is_told_and_not_made;
        failures:
            too_many_requests_wait_as_they_are_asked
            failures_of_the_server_are_tried_again
            a_stream_that_is_cut_anywhere_is_tried_again
            an_error_in_the_middle_of_an_answer_is_tried_again
            a_slow_start_is_waited_for
            a_server_that_falls_silent_is_left_and_asked_again
            a_dropped_turn_leaves_the_server
            each_failure_has_its_kind;
        keys:
            a_key_is_in_its_header_and_nowhere_else
            a_wrong_key_says_which_variable_to_look_at
            a_redirect_is_not_followed;
        places:
            nobody_at_the_address_is_said
            a_name_that_is_not_known_is_asked_for_less_often
            the_name_of_a_model_is_sent_as_it_is
            what_an_endpoint_wants_of_a_request_is_sent;
    };
    let mut trials: Vec<Trial> = pairs.into_iter().flatten().collect();
    trials.push(Trial::test("wire::places::addresses_are_read_and_wrong_ones_refused", || {
        places::addresses_are_read_and_wrong_ones_refused();
        Ok(())
    }));
    let name = "wire::places::a_server_on_this_machine_is_asked_without_a_proxy";
    trials.push(Trial::test(name, || {
        places::a_server_on_this_machine_is_asked_without_a_proxy();
        Ok(())
    }));
    trials.push(Trial::test("wire::places::calls_without_a_number_are_made", || {
        run_live(places::calls_without_a_number_are_made());
        Ok(())
    }));
    trials.push(Trial::test("wire::places::a_stream_without_its_last_frame_is_complete", || {
        run_live(places::a_stream_without_its_last_frame_is_complete());
        Ok(())
    }));
    trials.push(Trial::test("wire::keys::a_key_comes_from_its_variable_and_is_hidden", || {
        keys::a_key_comes_from_its_variable_and_is_hidden();
        Ok(())
    }));
    trials
}

fn both(name: &str, test: fn(Format)) -> Vec<Trial> {
    let formats = [(Format::Anthropic, "anthropic"), (Format::OpenAi, "openai")];
    let trials = formats.map(|(format, suffix)| {
        Trial::test(format!("{name}::{suffix}"), move || {
            test(format);
            Ok(())
        })
    });
    trials.into()
}

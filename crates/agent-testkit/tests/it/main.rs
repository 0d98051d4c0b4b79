//! The fake language server, the fake debug adapter and the scripted model server, each driven by a raw client.

mod client;
mod dap;
mod flaws;
mod log;
#[cfg(feature = "model")]
mod model;
mod process;
mod script;
mod steps;
mod toy;
mod toy_diagnostics;
mod toy_encodings;
mod toy_rename;

use libtest_mimic::{Arguments, Trial};

/// Trials named as their functions.
macro_rules! trials {
    ($($module:ident: $($name:ident)+;)+) => {
        vec![$($(Trial::test(stringify!($name), || {
            $module::$name();
            Ok(())
        })),+),+]
    };
}

fn main() {
    agent_testkit::lsp::main_if_asked();
    agent_testkit::dap::main_if_asked();
    #[cfg(feature = "model")]
    agent_testkit::model::main_if_asked();
    #[cfg_attr(
        not(feature = "model"),
        expect(unused_mut, reason = "the model server adds its own")
    )]
    let mut trials = trials! {
        script:
            a_script_is_the_same_as_json_and_as_a_builder
            a_rule_takes_the_nth_message_and_leaves_the_others_to_the_next_rule
            a_rule_can_ask_what_stands_in_the_params
            a_rule_can_ask_for_the_process_that_is_started
            the_first_rule_that_fits_takes_a_message
            a_server_without_rules_starts_refuses_and_stops
            capabilities_are_patched
            content_is_modified_so_often_and_then_there_is_a_result
            placeholders_speak_of_the_message
            edits_have_every_form_of_the_protocol;
        steps:
            a_wait_holds_up_its_own_steps_alone
            a_request_without_a_reply_stays_unanswered_until_it_is_cancelled
            a_cancelled_request_is_answered_once
            an_error_has_its_code_message_and_data
            published_versions_are_those_that_the_script_says
            a_partial_publish_is_followed_by_the_whole
            a_settled_publish_is_left_out_when_the_document_moved_on
            progress_has_a_token_that_the_client_grants
            capabilities_are_registered_late_and_taken_back
            status_notifications_have_the_shapes_of_rust_analyzer_and_dart
            a_request_to_the_client_waits_for_its_answer
            a_request_may_have_a_text_as_id_or_the_id_of_the_clients_own
            an_edit_may_be_applied_in_the_middle_of_a_hover
            a_reply_may_have_the_id_as_a_text;
        flaws:
            each_flaw_is_in_the_bytes
            a_huge_body_is_whole
            half_a_message_is_followed_by_the_end
            noise_comes_before_anything_was_asked
            bytes_that_are_no_text_are_written
            a_flood_is_written_while_nothing_is_read
            a_server_stops_reading_for_a_time
            a_server_stops_reading_for_ever;
        process:
            a_server_crashes_at_the_nth_message
            a_server_exits_with_a_code_and_a_last_word
            exit_without_shutdown_is_unclean
            a_server_ignores_shutdown_and_exit
            a_server_outlives_its_input
            a_spawned_process_outlives_the_server
            a_spawned_process_can_hold_the_output_open
            a_stub_answers_version_and_serves_without_any_environment
            a_broken_stub_fails_whatever_it_is_asked
            a_script_that_is_wrong_is_named
            what_is_no_message_ends_the_server;
        log:
            everything_the_client_sent_is_in_the_log_in_order
            a_response_is_logged_under_its_request
            a_reader_waits_for_what_is_to_come_and_tells_what_came_instead
            long_texts_are_cut
            an_async_test_waits_without_blocking;
        toy:
            hover_shows_the_definition_and_its_comment
            definitions_are_found_in_files_that_are_not_open
            types_and_implementations_are_found
            references_are_all_uses_with_or_without_the_definition
            symbols_are_listed_for_a_document_and_for_the_workspace
            an_undefined_name_has_a_quick_fix
            comments_texts_and_numbers_are_no_words
            members_are_told_apart_by_their_owners
            while_it_indexes_only_open_files_are_known
            it_says_that_it_indexes_in_three_ways
            a_watched_disk_is_known_as_far_as_it_is_told
            incremental_changes_are_applied
            the_root_is_found_in_each_of_its_fields
            other_extensions_can_be_its_own;
        toy_diagnostics:
            pushed_diagnostics_follow_each_change_with_its_version
            other_open_files_are_published_when_they_change
            every_file_of_the_root_can_be_published
            unversioned_quiet_publishes_settle
            a_partial_push_comes_before_the_whole
            a_close_is_followed_by_an_empty_publish
            pulled_diagnostics_are_reported_in_full_or_as_unchanged
            a_pull_finds_nothing_while_it_indexes
            a_late_pull_is_registered_or_pushed
            a_check_on_save_reads_the_disk_within_a_progress;
        toy_encodings:
            columns_count_in_each_encoding
            an_encoding_that_was_not_offered_is_not_chosen
            a_server_can_lie_about_its_columns
            uris_are_spelled_as_the_script_says
            windows_line_ends_are_no_part_of_a_line;
        toy_rename:
            a_rename_covers_every_file
            a_rename_has_the_form_and_versions_of_the_script
            a_rename_at_a_use_can_be_an_alias
            prepare_rename_refuses_what_is_no_word
            any_new_name_will_do;
        dap:
            each_manner_has_its_order_of_the_handshake
            the_toy_stops_where_it_has_code_and_uses_its_ids_again
            a_rule_takes_its_request_and_the_log_has_all_of_them
            a_script_is_the_same_as_json;
    };
    #[cfg(feature = "model")]
    trials.extend(trials! {
        model:
            anthropics_format_is_that_of_the_real_one
            openais_format_is_that_of_the_real_one
            rules_are_taken_in_their_order_until_they_are_used_up
            an_answer_breaks_off_where_it_is_told_to
            a_server_is_a_process_too
            every_sample_is_a_script;
    });
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

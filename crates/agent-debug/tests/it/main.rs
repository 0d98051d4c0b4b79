//! The debugger against recordings, a scripted adapter and, where they are installed, the real ones.

#![expect(clippy::unwrap_used, reason = "a helper of tests fails as a test does")]

mod live;
mod replay;
mod support;

use libtest_mimic::{Arguments, Trial};

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
    let mut trials = trials! {
        replay:
            no_message_of_a_real_adapter_is_lost
            a_stop_of_a_real_adapter_says_why_and_where
            an_error_of_a_real_adapter_is_in_its_own_words
            odd_messages_are_read_as_far_as_they_go;
    };
    live!(trials, "debugpy", python:
        a_program_stops_at_its_breakpoints_and_is_looked_at
        a_crash_comes_back_in_one_call
        an_exit_code_is_the_answer_of_a_program_that_ends_at_once);
    live!(trials, "lldb", c:
        a_program_stops_at_its_breakpoints_and_is_looked_at
        a_signal_stops_a_program_and_comes_back_in_one_call
        an_exit_code_is_the_answer_of_a_program_that_ends_at_once
        a_program_that_runs_is_paused_and_one_that_reads_does_not_wait
        no_child_and_no_daemon_outlives_the_session);
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
        no_child_outlives_the_session);
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

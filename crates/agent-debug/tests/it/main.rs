//! The debugger against recordings, a scripted adapter and, where they are installed, the real ones.

#![expect(clippy::unwrap_used, reason = "a helper of tests fails as a test does")]

mod replay;

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

fn main() {
    let trials = trials! {
        replay:
            no_message_of_a_real_adapter_is_lost
            a_stop_of_a_real_adapter_says_why_and_where
            an_error_of_a_real_adapter_is_in_its_own_words
            odd_messages_are_read_as_far_as_they_go;
    };
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

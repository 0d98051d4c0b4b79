//! How commands end, and that nothing of them is left.

use std::time::{Duration, Instant};

use agent_shell::{Ending, ShellArgs};
use agent_testkit::processes::Left;

use crate::support::Checkout;

#[tokio::test]
async fn an_exit_code_and_a_signal_are_told_apart() {
    let checkout = Checkout::new();
    let ending = async |command: &str| checkout.run(ShellArgs::new(command)).await.ending;
    assert_eq!(ending("exit 3").await, Ending::Exited { code: 3 });
    assert_eq!(ending("no-such-program-here").await, Ending::Exited { code: 127 });
    assert_eq!(ending("kill -9 $$").await, Ending::Signalled { signal: 9 });
    assert_eq!(ending("exit 137").await, Ending::Exited { code: 137 });
}

#[tokio::test]
async fn bash_reads_the_command_where_it_is_installed() {
    let checkout = Checkout::new();
    let report = checkout.run(ShellArgs::new("words=(a b c); echo ${#words[@]}")).await;
    assert_eq!(report.output, "3\n");
}

#[tokio::test]
async fn a_command_that_takes_too_long_is_ended_with_all_that_it_started() {
    let checkout = Checkout::new();
    let before = Left::count();
    let begun = Instant::now();
    let command = "echo begun; (trap '' TERM; setsid sleep 91 & sleep 92) & sleep 93";
    let report = checkout.run(ShellArgs::new(command).timeout(1)).await;
    assert_eq!((&report.ending, report.output.as_str()), (&Ending::TimedOut, "begun\n"));
    assert!(
        report.text().contains("whatever it had not done yet is not done"),
        "{}",
        report.text()
    );
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    assert!(report.left.is_empty(), "{:?}", report.left);
    before.none_within_a_while();
}

#[tokio::test]
async fn what_a_command_leaves_running_is_ended_and_counted() {
    let checkout = Checkout::new();
    let before = Left::count();
    let report = checkout.run(ShellArgs::new("sleep 94 & setsid sleep 95 & echo up")).await;
    assert_eq!(report.ending, Ending::Exited { code: 0 });
    assert_eq!((report.output.as_str(), report.killed), ("up\n", 2), "{report:?}");
    assert!(report.text().contains("2 processes that it had left running"), "{}", report.text());
    before.none_within_a_while();
}

#[tokio::test]
async fn a_cancel_ends_the_command_and_tells_what_it_had_changed() {
    let checkout = Checkout::new();
    let before = Left::count();
    let args = ShellArgs::new("echo x > made.txt; echo made; sleep 96");
    let cx = checkout.context();
    {
        let run = checkout.shell.run(&args, &cx);
        tokio::pin!(run);
        while !checkout.told().0.contains("made") {
            let step = tokio::time::timeout(Duration::from_millis(20), &mut run).await;
            assert!(step.is_err(), "{step:?}");
        }
    }
    before.none_within_a_while();
    let end = Instant::now() + Duration::from_secs(20);
    while checkout.told().1 != ["made.txt"] {
        assert!(Instant::now() < end, "{:?}", checkout.told());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_flood_is_told_kept_in_part_and_counted() {
    let checkout = Checkout::new();
    let report = checkout.run(ShellArgs::new("echo first; yes | head -c 8000000; echo last")).await;
    assert_eq!(report.output_bytes, 8_000_011);
    assert!(report.output.starts_with("first\n") && report.output.ends_with("last\n"));
    assert_eq!(report.dropped_bytes, 8_000_011 - 512 * 1024);
    assert_eq!(checkout.told().0.len(), 8_000_011);
}

/// A process of its own has a key in its environment and runs the command.
#[tokio::test]
async fn keys_are_not_passed_on() {
    const INNER: &str = "AGENT_SHELL_KEYS_TEST";
    const KEY: &str = "sk-secret-of-the-test";
    if std::env::var_os(INNER).is_some() {
        let report = Checkout::new().run(ShellArgs::new("env")).await;
        assert!(report.output.contains("TERM=dumb"), "{}", report.output);
        assert!(report.output.contains(INNER), "{}", report.output);
        assert!(!report.output.contains(KEY), "{}", report.output);
        return;
    }
    let mut inner = std::process::Command::new(std::env::current_exe().unwrap());
    inner.args(["--exact", "ends::keys_are_not_passed_on"]).env(INNER, "1");
    let inner = inner.env("ANTHROPIC_API_KEY", KEY).env("GITHUB_TOKEN", KEY).output().unwrap();
    let said = String::from_utf8_lossy(&inner.stdout);
    assert!(inner.status.success() && said.contains("1 passed"), "{said}");
}

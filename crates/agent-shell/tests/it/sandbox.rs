//! Commands behind bubblewrap.

use std::{fs, process::Command};

use agent_process::{Guard, Launcher, Prefix};
use agent_shell::{Ending, Shell, ShellArgs};
use agent_testkit::processes::Left;
use agent_workspace::Workspace;

use crate::support::Checkout;

/// Whether there is a bubblewrap that works here. Where it has to be, that it does not is a failure.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn bubblewrap_works() -> bool {
    let tried =
        Command::new("bwrap").args(["--ro-bind", "/", "/", "--unshare-net", "true"]).output();
    let works = tried.as_ref().is_ok_and(|output| output.status.success());
    if !works {
        assert!(
            std::env::var_os("AGENT_TESTS_LIVE").is_none(),
            "run `cargo xtask setup` first: {tried:?}"
        );
        eprintln!("skipped: there is no bubblewrap that works; `cargo xtask setup` installs it");
    }
    works
}

// spec: TIER-09
#[tokio::test]
async fn a_command_in_a_sandbox_changes_its_checkout_and_nothing_else_and_ends_whole() {
    if !bubblewrap_works() {
        return;
    }
    let checkout = Checkout::new().with("a.txt", "one\n");
    let folder = checkout.path().canonicalize().unwrap();
    let shown = folder.display();
    // The checkout may lie below the folder that is hidden, so it is bound behind it.
    let prefix = format!(
        "bwrap --ro-bind / / --dev /dev --proc /proc --tmpfs /tmp --bind {shown} {shown} --unshare-net --unshare-pid \
         --die-with-parent --"
    );
    let launcher = Launcher::new(Guard::new()).sandbox(Prefix::parse(&prefix).unwrap());
    let shell = Shell::new(Workspace::open(&folder).unwrap(), launcher);
    let outside = folder.with_extension("outside");
    let command = format!(
        "cat a.txt; echo two > b.txt; echo x > {} && echo hidden; echo x 2>/dev/null > /etc/x || echo refused; \
         tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '",
        outside.display()
    );
    let cx = checkout.context();
    let report = shell.run(&ShellArgs::new(command), &cx).await.unwrap();
    assert_eq!(report.output, "one\nhidden\nrefused\nlo\n");
    assert_eq!(report.ending, Ending::Exited { code: 0 });
    assert_eq!(fs::read_to_string(folder.join("b.txt")).unwrap(), "two\n");
    // It wrote into a /tmp of its own.
    assert!(!outside.exists());
    let (_, changed) = checkout.told();
    assert!(changed.iter().any(|path| path == "b.txt"), "{changed:?}");

    let before = Left::count();
    let stays = ShellArgs::new("echo begun; setsid sleep 614 & sleep 615").timeout(1);
    let report = shell.run(&stays, &cx).await.unwrap();
    assert_eq!((&report.ending, report.output.as_str()), (&Ending::TimedOut, "begun\n"));
    before.none_within_a_while();
}

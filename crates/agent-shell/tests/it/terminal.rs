//! Nobody is asked at the terminal that the program was started at.

use agent_shell::{Ending, ShellArgs};

use crate::support::Checkout;

#[tokio::test]
async fn there_is_no_input() {
    let checkout = Checkout::new();
    let report = checkout.run(ShellArgs::new("read line; echo \"got '$line' $?\"; cat")).await;
    assert_eq!(report.output, "got '' 1\n");
    assert_eq!(report.ending, Ending::Exited { code: 0 });
}

#[tokio::test]
async fn there_is_no_terminal() {
    let checkout = Checkout::new();
    let command = "tty; (echo prompt > /dev/tty) 2>/dev/null || echo none; ps -o sid= -p $$ | tr -d ' '; echo $$";
    let report = checkout.run(ShellArgs::new(command)).await;
    let lines: Vec<&str> = report.output.lines().collect();
    assert_eq!(lines[..2], ["not a tty", "none"], "{}", report.output);
    assert_eq!(lines[2], lines[3], "it leads a session of its own");
}

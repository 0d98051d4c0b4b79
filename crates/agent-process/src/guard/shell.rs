use tokio::process::Command;

use super::TERM_TIME;

const SCRIPT: &str = include_str!("guard.sh");

/// The script in a session of its own where `setsid` exists, in a group of its own elsewhere.
pub(super) fn command(run: &str) -> Command {
    let in_session = format!(
        "if command -v setsid >/dev/null; then exec setsid sh -c \"$0\" agent-process-guard \"$@\"; fi\n{SCRIPT}"
    );
    let mut command = Command::new("sh");
    command.arg("-c").arg(in_session).arg(SCRIPT).arg(run).arg(TERM_TIME.as_secs_f32().to_string());
    command
}

//! The handshake, which no two adapters do in one order.

use std::{path::Path, sync::Arc, time::Duration};

use agent_process::Launcher;
use debug_types::types::SourceBreakpoint;
use serde_json::Value;
use tempfile::TempDir;
use tokio::time::sleep;

use super::{How, Live, MAX_REQUEST_TIME, MAX_START_TIME, Wire, lock, wire::connect};
use crate::{
    connection::Connection,
    error::RequestError,
    protocol::{Breakpoint, Capabilities, outgoing},
};

/// How much of what the adapter said is repeated where a start failed.
const CONSOLE_BYTES: usize = 2 << 10;

/// How long the words that belong to a failure may come after it.
const CONSOLE_TIME: Duration = Duration::from_millis(100);

/// What a session is to be started with.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) wire: Wire,
    pub(crate) target: Target,
    /// Functions to stop at as at a panic.
    pub(crate) functions: &'static [&'static str],
    /// Files that live as long as the session.
    pub(crate) scratch: Option<TempDir>,
}

/// `launch` or `attach`, with the adapter's own arguments.
#[derive(Debug)]
pub(crate) enum Target {
    Launch(Value),
    Attach(Value),
}

/// Brings the debuggee to where it runs with its breakpoints set.
pub(super) async fn start(live: &Arc<Live>, plan: Plan, launcher: &Launcher) -> Result<(), String> {
    *lock(&live.scratch) = plan.scratch;
    let connection = connect(live, &plan.wire, launcher).await?;
    let connection = live.connection.get_or_init(|| connection).clone();
    match shake_hands(live, &connection, plan.target, plan.functions).await {
        Ok(()) => Ok(()),
        Err(error) => {
            sleep(CONSOLE_TIME).await;
            Err(words(live, error))
        }
    }
}

async fn shake_hands(
    live: &Live,
    connection: &Connection,
    target: Target,
    functions: &[&str],
) -> Result<(), RequestError> {
    let initialize = outgoing::initialize(live.adapter.protocol_id);
    let body = connection.ask(&initialize, MAX_START_TIME).await?;
    let capabilities = live.capabilities.get_or_init(|| Capabilities::of(&body)).clone();

    // Some adapters answer only when all is configured, some before they can be configured, and some never say that they can
    // be, since the start failed.
    let request = match target {
        Target::Launch(arguments) => outgoing::start("launch", arguments),
        Target::Attach(arguments) => outgoing::start("attach", arguments),
    };
    let mut answer = Box::pin(connection.send(&request)?.answer(MAX_START_TIME));
    let mut answered = false;
    loop {
        tokio::select! {
            biased;
            begun = &mut answer, if !answered => {
                begun?;
                answered = true;
            }
            initialized = live.shared.wait(MAX_START_TIME, |state| state.initialized.then_some(())) => {
                initialized.ok_or(RequestError::Late(request.command, MAX_START_TIME))?;
                break;
            }
        }
    }
    let configured = configure(live, connection, &capabilities, functions).await;
    if !answered {
        // Where both failed, what the start says is the cause.
        answer.await?;
    }
    configured
}

async fn configure(
    live: &Live,
    connection: &Connection,
    capabilities: &Capabilities,
    functions: &[&str],
) -> Result<(), RequestError> {
    let paths = live.shared.breakpoints().paths();
    for (path, given) in &paths {
        set_breakpoints(live, path, given).await?;
    }
    if !functions.is_empty() && capabilities.function_breakpoints {
        let request = outgoing::set_function_breakpoints(functions);
        let body = connection.ask(&request, MAX_REQUEST_TIME).await?;
        let ids = Breakpoint::all(&body).into_iter().filter_map(|breakpoint| breakpoint.id);
        lock(&live.panics).extend(ids);
    }
    let wanted = |(name, default): &(String, bool)| {
        (*default || live.adapter.filters.contains(&name.as_str())).then(|| name.clone())
    };
    let filters: Vec<String> = capabilities.filters.iter().filter_map(wanted).collect();
    // An empty list would take away what some adapters do by themselves.
    if !filters.is_empty() {
        connection.ask(&outgoing::set_exception_breakpoints(filters), MAX_REQUEST_TIME).await?;
    }
    if capabilities.configuration_done {
        connection.ask(&outgoing::configuration_done(), MAX_START_TIME).await?;
    }
    Ok(())
}

/// Sets the breakpoints of one file, and notes what became of them. An adapter that says no is no failure of the session.
pub(super) async fn set_breakpoints(
    live: &Live,
    path: &Path,
    given: &Path,
) -> Result<(), RequestError> {
    let terms = live.shared.breakpoints().terms(path);
    if let Err(why) = live.takes(&terms) {
        live.shared.breakpoints().refused(path, &why);
        return Ok(());
    }
    let wanted = live.shared.breakpoints().wanted(path);
    let retry = !wanted.is_empty() && path != given;
    send_breakpoints(live, path, path, wanted.clone()).await?;
    // The debug information may know the file by a link.
    if retry && live.shared.breakpoints().none_set(path) {
        let clear = outgoing::set_breakpoints(path, Vec::new());
        live.ask(&clear, MAX_REQUEST_TIME).await.map(drop)?;
        send_breakpoints(live, path, given, wanted).await?;
    }
    Ok(())
}

async fn send_breakpoints(
    live: &Live,
    path: &Path,
    named: &Path,
    wanted: Vec<SourceBreakpoint>,
) -> Result<(), RequestError> {
    match live.ask(&outgoing::set_breakpoints(named, wanted), MAX_REQUEST_TIME).await {
        Ok(body) => {
            live.shared.breakpoints().answered(path, &Breakpoint::all(&body));
            Ok(())
        }
        Err(RequestError::Refused(why)) => {
            live.shared.breakpoints().refused(path, &why);
            Ok(())
        }
        Err(error) => Err(error),
    }
}

/// Why it did not start, with what the adapter said beside it.
fn words(live: &Live, error: RequestError) -> String {
    let said = match error {
        RequestError::Refused(said) => said,
        RequestError::Late(command, limit) => crate::error::late(command, limit),
        RequestError::Gone => "the adapter closed its output".to_owned(),
    };
    with_console(live, said)
}

pub(super) fn too_late(live: &Live) -> String {
    let limit = live.how.start_limit().as_secs();
    let said = match &live.how {
        How::Launched(_) => format!("the program was not ready in {limit} s"),
        How::Attached(port) => format!(
            "what listens on port {port} did not answer as a debug server in {limit} s; see that it is one and that \
             `adapter` is its kind"
        ),
    };
    with_console(live, said)
}

fn with_console(live: &Live, said: String) -> String {
    let state = live.shared.state();
    // A build's words come as output, as if the program had written them.
    let output = state.output.since(0, CONSOLE_BYTES).text;
    let parts = [said, state.console_tail(CONSOLE_BYTES), output.trim().to_owned()];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("\n")
}

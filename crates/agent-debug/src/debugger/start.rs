//! `launch` and `attach`.

use std::{fs, path::Path, sync::Arc, time::Duration};

use agent_tool_core::ToolError;

use super::{Debugger, run::LAUNCH_TIME};
use crate::{
    adapters::{ADAPTERS, Adapter, Detected, Launch, Prepared, attach_arguments, prepare},
    breakpoints::Status,
    error::{attach_failed, launch_failed, no_adapter, not_trusted, session_live},
    report::{RunReport, RunState},
    session::{How, Live, Plan, Target, Wire, drive},
    state::{End, Phase, Shared},
};

/// What lists the ports that somebody listens on, one file for each family.
const PORT_TABLES: [&str; 2] = ["/proc/net/tcp", "/proc/net/tcp6"];

/// The state of a listening socket in them.
const LISTENS: &str = "0A";

/// What to start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LaunchArgs {
    /// The program: a binary, a script or a Go package.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// The adapter, where the program does not tell.
    pub adapter: Option<String>,
    /// How long to wait for the first stop.
    pub timeout: Option<Duration>,
}

/// What to join.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AttachArgs {
    /// The port of this machine that the debuggee's server listens on.
    pub port: u16,
    /// The adapter, where the project does not tell.
    pub adapter: Option<String>,
    /// How long to wait for a stop.
    pub timeout: Option<Duration>,
}

impl LaunchArgs {
    /// A program without arguments.
    #[must_use]
    pub fn new(program: impl Into<String>) -> Self {
        Self { program: program.into(), ..Self::default() }
    }

    /// The same with these arguments.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.args = args.into_iter().map(Into::into).collect();
        self
    }

    /// The same by this adapter.
    #[must_use]
    pub fn adapter(mut self, adapter: impl Into<String>) -> Self {
        self.adapter = Some(adapter.into());
        self
    }

    /// The same, waiting so long for the first stop.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }
}

impl AttachArgs {
    /// A server on this port.
    #[must_use]
    pub fn new(port: u16) -> Self {
        Self { port, ..Self::default() }
    }

    /// The same by this adapter.
    #[must_use]
    pub fn adapter(mut self, adapter: impl Into<String>) -> Self {
        self.adapter = Some(adapter.into());
        self
    }

    /// The same, waiting so long for a stop.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }
}

impl Debugger {
    /// Starts a program with the breakpoints set, and says where it stopped first, or that it runs, or how it ended. A crash
    /// stops it, and comes back with the variables of the first frame of the user's.
    ///
    /// Dropping the future leaves the session, which goes on starting.
    ///
    /// # Errors
    ///
    /// `session_live`, `not_trusted`, `no_adapter`, `bad_program`, `launch_failed`, `adapter_died`, `unresponsive`,
    /// `busy_session`.
    pub async fn launch(&self, args: &LaunchArgs) -> Result<RunReport, ToolError> {
        let _operating = self.operate("launch")?;
        self.free().await?;
        if !self.is_trusted() {
            return Err(not_trusted("launch"));
        }
        let launch = self.resolve(args);
        let wanted = launch.adapter()?;
        let near = launch.program.clone();
        let detected = self.choose(args.adapter.as_deref(), wanted, Some(&near)).await?;
        let checkout = &self.inner.checkout;
        let Prepared { arguments, folder, functions, scratch } =
            prepare(&launch, &detected, checkout, &self.inner.launcher).await?;
        let plan = Plan {
            wire: Wire::Program { path: detected.path(), folder },
            target: Target::Launch(arguments),
            functions,
            scratch,
        };
        let live = self.begin(&detected, How::Launched(launch.shown), plan);
        self.begun(&live).await.map_err(launch_failed)?;
        let report = self.halted(&live, args.timeout.unwrap_or(LAUNCH_TIME)).await?;
        Ok(self.with_breakpoints(report))
    }

    /// Joins a debuggee whose server listens on a port of this machine. The debuggee is not ours: nothing that ends the
    /// session kills it.
    ///
    /// # Errors
    ///
    /// As [`Debugger::launch`], with `attach_failed`.
    pub async fn attach(&self, args: &AttachArgs) -> Result<RunReport, ToolError> {
        let _operating = self.operate("attach")?;
        self.free().await?;
        let detected = self.choose(args.adapter.as_deref(), None, None).await?;
        if listens(args.port) == Some(false) {
            return Err(attach_failed(format!(
                "nothing listens on port {}; start the program under its debug server first",
                args.port
            )));
        }
        let wire = if detected.adapter.listens {
            Wire::Port(args.port)
        } else {
            Wire::Program { path: detected.path(), folder: "/".into() }
        };
        let plan = Plan {
            wire,
            target: Target::Attach(attach_arguments(detected.adapter, args.port)),
            functions: &[],
            scratch: None,
        };
        let live = self.begin(&detected, How::Attached(args.port), plan);
        self.begun(&live).await.map_err(attach_failed)?;
        let wait = args.timeout.unwrap_or(Duration::from_secs(1));
        let mut report = self.halted(&live, wait).await?;
        if report.state != RunState::Ended {
            report
                .notes
                .push(format!("the program was not started here: {}", live.adapter.after_attach));
        }
        Ok(self.with_breakpoints(report))
    }

    /// Refuses a second session; one that is over gives way.
    async fn free(&self) -> Result<(), ToolError> {
        let Some(live) = self.live() else { return Ok(()) };
        let over = |state: &mut crate::state::State| match state.phase {
            Phase::Ended(_) => Some(true),
            _ if state.ending.is_some() => None,
            _ => Some(false),
        };
        if live.shared.wait(super::END_TIME, over).await != Some(true) {
            let status = self.status();
            let detail = status.detail.map(|detail| format!(": {detail}")).unwrap_or_default();
            let age = live.started.elapsed().as_secs();
            return Err(session_live(&format!(
                "{}, {}{detail}, started {age} s ago",
                live.adapter.id, status.state
            )));
        }
        Ok(())
    }

    fn resolve(&self, args: &LaunchArgs) -> Launch {
        let folder = self.inner.checkout.workspace.roots()[0].path().to_owned();
        Launch {
            program: folder.join(&args.program),
            shown: args.program.clone(),
            args: args.args.clone(),
            folder,
        }
    }

    /// The adapter that was asked for, or the program's, or the only one that fits here.
    async fn choose(
        &self,
        asked: Option<&str>,
        program: Option<&'static Adapter>,
        near: Option<&Path>,
    ) -> Result<Detected, ToolError> {
        let named = |id: &str| ADAPTERS.iter().find(|adapter| adapter.id == id);
        let checkout = &self.inner.checkout;
        let adapter = match (asked, program) {
            (Some(id), _) => Some(named(id).ok_or_else(|| {
                let all: Vec<_> = ADAPTERS.iter().map(|adapter| adapter.id).collect();
                no_adapter(format!("there is no adapter `{id}`; there are {}", all.join(", ")))
            })?),
            (None, program) => program,
        };
        if let (None, Some(program)) = (adapter, near) {
            return Err(no_adapter(format!(
                "`{}` has neither the name nor the content of a program that an adapter is for; name the adapter in \
                 `adapter`",
                program.file_name().unwrap_or(program.as_os_str()).to_string_lossy()
            )));
        }
        if let Some(adapter) = adapter {
            let detected = checkout.detect(adapter, near).await;
            return match detected.why_not() {
                Some(why) => Err(no_adapter(format!("{} cannot be used: {why}", adapter.id))),
                None => Ok(detected),
            };
        }
        let mut usable: Vec<_> = checkout.detect_all(near).await;
        usable.retain(Detected::usable);
        match (usable.pop(), usable.as_slice()) {
            (Some(only), []) => Ok(only),
            (None, _) => {
                Err(no_adapter("no adapter fits here; `adapters` says what is missing of each"))
            }
            (Some(last), others) => {
                let mut ids: Vec<_> = others.iter().map(|one| one.adapter.id).collect();
                ids.push(last.adapter.id);
                let ids = ids.join(", ");
                Err(no_adapter(format!(
                    "several adapters fit ({ids}); name one of them in `adapter`"
                )))
            }
        }
    }

    /// Puts a new session in the place of the last one. It goes on by itself.
    fn begin(&self, detected: &Detected, how: How, plan: Plan) -> Arc<Live> {
        let mut slot = self.slot();
        if let Some(last) = slot.live.clone() {
            slot.next_id = last.shared.state().ids.next();
        }
        self.table().reset();
        let shared =
            Arc::new(Shared::new(self.inner.breakpoints.clone(), slot.next_id, detected.adapter));
        let command = detected.command().unwrap_or_else(|| detected.adapter.id.to_owned());
        let live = Arc::new(Live::new(detected.adapter, command, how, shared));
        slot.task = Some(tokio::spawn(drive(live.clone(), plan, self.inner.launcher.clone())));
        slot.live = Some(live.clone());
        live
    }

    /// Waits for the end of the start.
    async fn begun(&self, live: &Live) -> Result<(), String> {
        let begun = |state: &mut crate::state::State| match &state.phase {
            Phase::Starting => None,
            Phase::Ended(ended) => match &ended.how {
                End::StartFailed(why) => Some(Err(why.clone())),
                End::AdapterDied(how) if !state.began => Some(Err(how.clone())),
                _ => Some(Ok(())),
            },
            _ => Some(Ok(())),
        };
        // The session has a limit of its own for its start; this one is for a session that hangs in its end.
        let begun = live.shared.wait(live.how.start_limit() + super::END_TIME, begun).await;
        begun.unwrap_or_else(|| Err("its start hangs; terminate ends the session".to_owned()))
    }

    /// Adds those breakpoints that are not set as they were asked for.
    pub(super) fn with_breakpoints(&self, mut report: RunReport) -> RunReport {
        report.breakpoints = self.table().states();
        report.breakpoints.retain(|breakpoint| breakpoint.status != Status::Set);
        report
    }
}

impl Detected {
    fn path(&self) -> std::path::PathBuf {
        self.program.as_ref().map(|found| found.path.clone()).unwrap_or_default()
    }

    /// The program with its arguments and its version.
    pub(super) fn command(&self) -> Option<String> {
        let found = self.program.as_ref().ok()?;
        let version = match found.version.as_str() {
            "" => String::new(),
            version => format!(" ({version})"),
        };
        let mut words = vec![found.path.to_string_lossy().into_owned()];
        words.extend(self.adapter.args.iter().map(|arg| (*arg).to_owned()));
        Some(format!("{}: {}{version}", self.adapter.id, words.join(" ")))
    }
}

/// Whether somebody listens on a port; none where the system does not list them. Nothing is connected to: that would take
/// the only connection that some servers accept.
fn listens(port: u16) -> Option<bool> {
    let tables: Vec<String> =
        PORT_TABLES.iter().filter_map(|table| fs::read_to_string(table).ok()).collect();
    if tables.is_empty() {
        return None;
    }
    let port = format!(":{port:04X}");
    let listens = |line: &str| {
        let mut fields = line.split_ascii_whitespace().skip(1);
        let local = fields.next().is_some_and(|local| local.ends_with(&port));
        local && fields.nth(1) == Some(LISTENS)
    };
    Some(tables.iter().flat_map(|table| table.lines()).any(listens))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::listens;

    #[test]
    fn a_port_that_is_listened_on_is_seen_without_a_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = listens(port);
        assert!(seen.is_none_or(|listens| listens));
        drop(listener);
        assert!(listens(port).is_none_or(|listens| !listens));
    }
}

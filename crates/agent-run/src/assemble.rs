//! From options and configuration to a run.

use std::{fs, os::unix::fs::OpenOptionsExt as _, path::PathBuf, sync::Arc, time::Duration};

use agent_ask::{Asker, Conversation};
use agent_astgrep::{Structure, Trees};
use agent_builtins::{Resources, default_rules};
use agent_debug::Debugger;
use agent_edits::Edits;
use agent_eval::{Interpreters, Site};
use agent_files::{ARTIFACT_SCHEME, Files};
use agent_grammars::Grammars;
use agent_lsp::{
    Lsp,
    table::{ServerTable, Trust},
};
use agent_mcp::{Bridge, Servers};
use agent_process::{EnvironmentRule, Guard, Launcher, Prefix};
use agent_shell::Shell;
use agent_tiers::{Approval, ApproveMode, Run, View};
use agent_tool_core::{CardPort, CardQueue, Limits, Tier, Tool};
use agent_vibe::{RosterLimits, Workers};
use agent_workspace::{ErrorKind, Root, WalkOptions, Workspace, WorkspacePath};
use anyhow::{Context, Result, bail};

use crate::{
    args::Approve,
    artifacts::{self, Kept},
    config::{CHECKOUT_FILE, Config},
    edge, mcp,
    state::{FILE_MODE, State},
    style::{FAINT, in_style, remark as say},
    terminal::Terminal,
    workers::{Crew, WorkerUsage},
};

/// What `--sandbox` takes to run on the host although a configuration names a sandbox.
const NO_SANDBOX: &str = "none";

/// A run with everything that it was made of.
pub(crate) struct Assembled {
    pub run: Run,
    pub view: View,
    pub state: State,
    pub workspace: Workspace,
    pub edits: Edits,
    pub grammars: Arc<Grammars>,
    pub lsp: Lsp,
    pub debugger: Debugger,
    pub interpreters: Interpreters,
    pub shell: Shell,
    /// Where all cards of the run wait for their turn.
    pub cards: CardQueue,
    /// The external servers with their tools.
    pub mcp: Bridge,
    /// The background workers; none where vibe mode was not wished for.
    pub workers: Option<Workers>,
    /// What the models of workers in this process used.
    pub worker_usage: WorkerUsage,
}

/// Whether a run has background workers.
#[derive(Debug, Default)]
pub(crate) enum Vibe {
    #[default]
    Off,
    /// Those that its person configured.
    Configured,
    /// Those of the run's host.
    Of(Workers),
}

/// What one command wants of its run.
pub(crate) struct Wishes {
    /// The most that the run may ever reach.
    pub limits: Limits,
    /// Where cards are shown.
    pub port: Arc<dyn CardPort>,
    /// The host's own tools; one shadows ours of the same name.
    pub tools: Vec<Arc<dyn Tool>>,
    /// What is kept between searches: a run of a single call keeps nothing.
    pub trees: Trees,
    pub transcript: Option<PathBuf>,
    /// Where questions are asked; without it there is no `ask_user`.
    pub conversation: Option<Conversation>,
    pub vibe: Vibe,
    /// Whether the MCP servers are started. Where they are not, the run knows what to keep secret for them all the same.
    pub bridge: bool,
}

impl Wishes {
    /// A run for a person at the terminal, or for nobody.
    pub(crate) fn of_terminal(config: &Config, transcript: Option<PathBuf>) -> Self {
        let asks = config.approve.unwrap_or_else(default_approve) == Approve::Ask;
        let port: Arc<dyn CardPort> = match asks && Terminal::is_there() {
            true => Arc::new(Terminal::new(config.secrets())),
            false => Arc::new(Nobody),
        };
        let conversation = port.connected().then(|| Conversation::new("terminal"));
        Self { port, transcript, conversation, ..Self::of_nobody() }
    }

    /// A run that calls nothing which asks.
    pub(crate) fn of_nobody() -> Self {
        Self {
            limits: Limits::default(),
            port: Arc::new(Nobody),
            tools: Vec::new(),
            trees: Trees::default(),
            transcript: None,
            conversation: None,
            vibe: Vibe::Off,
            bridge: true,
        }
    }
}

/// Refuses a configuration that no run begins with, before anybody is asked anything.
pub(crate) fn check(config: &Config) -> Result<()> {
    check_globs(&workspace(config)?, &config.exclude)
}

/// Makes the run. It waits for the MCP servers, where there are any, within their bounds.
pub(crate) async fn assemble(config: &Config, wishes: Wishes) -> Result<Assembled> {
    for remark in &config.ignored {
        say(in_style(FAINT, remark));
    }
    let workspace = workspace(config)?;
    check_globs(&workspace, &config.exclude)?;
    let state = State::open();
    if let Some(all) = state.all_artifacts() {
        artifacts::remove_old(&all);
    }
    let edits = state.edits(&workspace).context("the journal of changes")?;
    for recovery in edits.recovered() {
        let said = edge::row(&recovery.to_string());
        say(in_style(FAINT, format!("of an earlier run: {said}")));
    }
    let grammars = Arc::new(Grammars::bundled());
    let structure = Structure::new(workspace.clone(), edits.clone(), Arc::clone(&grammars))
        .with_trees(wishes.trees)
        .with_endings(config.languages.clone())
        .without_files(config.exclude.clone());
    let mut files =
        Files::new(workspace.clone(), edits.clone()).without_files(config.exclude.clone());
    if let Some(folder) = state.artifacts() {
        files = files.with_artifacts(folder);
    }
    let guard = Guard::new();
    let lsp = servers(config, &workspace, &edits, &guard)?;
    let debugger = debugger(config, &workspace, &guard);
    let ground = Ground::of(config, &guard)?;
    let interpreters = interpreters(config, &workspace, &ground);
    let cards = CardQueue::new(wishes.port);
    let worker_usage = WorkerUsage::default();
    let workers = match wishes.vibe {
        Vibe::Off => None,
        Vibe::Of(workers) => Some(workers),
        Vibe::Configured if config.workers.is_empty() => bail!(
            "vibe mode has no workers; name them with --worker 'fast=COMMAND', or in your own config.toml\n\n  [worker.fast]\n  \
             command = \"claude -p {{brief}}\""
        ),
        Vibe::Configured => {
            let launcher = launcher(config, &guard);
            let folder = config.working().to_owned();
            let crew = Crew::new(&config.workers, &launcher, folder, &worker_usage)?;
            Some(Workers::new(crew, RosterLimits::default()))
        }
    };
    let shell = Shell::new(workspace.clone(), ground.launcher);
    let mut resources = Resources::new()
        .files(files)
        .shell(shell.clone())
        .astgrep(structure)
        .lsp(lsp.clone())
        .debug(debugger.clone())
        .eval(interpreters.clone());
    if let Some(conversation) = wishes.conversation.filter(|_| cards.connected()) {
        resources = resources.ask(Asker::new(cards.clone(), conversation));
    }
    if let Some(workers) = &workers {
        resources = resources.vibe(workers);
    }
    let servers = if wishes.bridge { config.mcp.clone() } else { Servers::default() };
    let mcp = mcp::connect(config, servers, launcher(config, &guard), trust(config), &cards).await;
    for complaint in mcp::complaints(&mcp) {
        say(in_style(FAINT, edge::row(&complaint)));
    }
    resources = resources.mcp(&mcp);
    let registry = wishes.tools.into_iter().fold(resources, Resources::tool).registry();
    let registry = registry.context("the tools")?;
    let mode = match config.approve.unwrap_or_else(default_approve) {
        Approve::All => ApproveMode::All,
        Approve::Ask => ApproveMode::Ask,
        Approve::None => ApproveMode::Nobody,
    };
    let approval = Approval::with_queue(mode, default_rules(), cards.clone());
    let mut builder = Run::builder(registry)
        .ceiling(wishes.limits.ceiling.unwrap_or(Tier::Exec))
        .approval(approval)
        .secrets(config.secrets())
        .artifacts(Arc::new(Kept::new(state.artifacts())));
    if let Some(characters) = config.result_characters {
        builder = builder.result_chars(characters);
    }
    if let Some(path) = &wishes.transcript {
        // What a run reads and does is for its owner alone, as all that is kept of it.
        let mut options = fs::OpenOptions::new();
        let options = options.write(true).create(true).truncate(true).mode(FILE_MODE);
        let file = options.open(path).with_context(|| format!("{}", path.display()))?;
        builder = builder.transcript(file);
    }
    let run = builder.build();
    let view = run.view(config.surface, wishes.limits);
    Ok(Assembled {
        run,
        view,
        state,
        workspace,
        edits,
        grammars,
        lsp,
        debugger,
        interpreters,
        shell,
        cards,
        mcp,
        workers,
        worker_usage,
    })
}

/// Starts programs of the run, without the keys of the models that it knows.
fn launcher(config: &Config, guard: &Guard) -> Launcher {
    let rule = config.key_variables().fold(EnvironmentRule::new(), EnvironmentRule::remove);
    Launcher::new(guard.clone()).environment(rule)
}

/// Ends the workers of a run, within a bounded time, and says what was left undone by it.
pub(crate) async fn end_workers(workers: Option<&Workers>) -> Option<String> {
    let ended = workers?.turn_off().await;
    let count = |count: usize| match count {
        1 => "1 worker was".to_owned(),
        count => format!("{count} workers were"),
    };
    let killed = match ended.killed {
        0 => return None,
        killed => format!("{} at work when the run ended and killed", count(killed)),
    };
    Some(match ended.detached {
        0 => killed,
        detached => format!("{killed}; {} let go, not having stopped in time", count(detached)),
    })
}

/// The language servers of a run. The rows that a person adds name programs, so they come from the
/// person's own file alone.
fn servers(config: &Config, workspace: &Workspace, edits: &Edits, guard: &Guard) -> Result<Lsp> {
    let table =
        ServerTable::with_user_rows(&config.servers).context("the servers of config.toml")?;
    let trust = match config.trust.is_trusted() {
        true => Trust::Trusted,
        false => Trust::Untrusted,
    };
    let launcher = launcher(config, guard);
    Ok(Lsp::builder(workspace.clone(), edits.clone(), launcher).table(table).trust(trust).build())
}

/// The debugger of a run. An untrusted checkout's programs are not started by it.
fn debugger(config: &Config, workspace: &Workspace, guard: &Guard) -> Debugger {
    Debugger::new(workspace.clone(), launcher(config, guard), trust(config))
}

/// Where cells and commands run: on the host, or in the conversation's sandbox. That is the person's to say, so it comes from
/// their own file and the flags alone.
struct Ground {
    launcher: Launcher,
    site: Site,
}

impl Ground {
    fn of(config: &Config, guard: &Guard) -> Result<Self> {
        let settings = &config.eval;
        let launcher = launcher(config, guard);
        let sandbox = settings.sandbox.as_deref().filter(|command| *command != NO_SANDBOX);
        let Some(command) = sandbox else { return Ok(Self { launcher, site: Site::default() }) };
        let mut prefix = Prefix::parse(command).context("the sandbox")?;
        if let Some(folder) = &settings.sandbox_folder {
            prefix = prefix.folder(folder);
        }
        let site = Site::of(&prefix);
        Ok(Self { launcher: launcher.sandbox(prefix), site })
    }
}

/// The interpreters of a run. Which programs they are is the person's to say, so it comes from their own file alone.
fn interpreters(config: &Config, workspace: &Workspace, ground: &Ground) -> Interpreters {
    let settings = &config.eval;
    let builder = Interpreters::builder(workspace.clone(), ground.launcher.clone());
    let mut builder = builder.trust(trust(config)).site(ground.site.clone());
    if let Some(python) = &settings.python {
        builder = builder.python(python);
    }
    if let Some(node) = &settings.node {
        builder = builder.node(node);
    }
    if let Some(seconds) = settings.idle_seconds {
        builder = builder.idle(Duration::from_secs(u64::from(seconds.get())));
    }
    if let Some(megabytes) = settings.memory_mb {
        builder = builder.memory_bytes(u64::from(megabytes.get()) << 20);
    }
    if let Some(count) = settings.processes {
        builder = builder.processes(u64::from(count.get()));
    }
    builder.build()
}

/// Whether programs of the checkout may be run.
fn trust(config: &Config) -> agent_process::Trust {
    match config.trust.is_trusted() {
        true => agent_process::Trust::Trusted,
        false => agent_process::Trust::Untrusted,
    }
}

fn workspace(config: &Config) -> Result<Workspace> {
    let mut builder = Workspace::builder();
    for (name, path) in &config.roots {
        builder = match name {
            Some(name) => builder.named_root(name, path),
            None => builder.root(path),
        };
    }
    let workspace = builder.open().context("the workspace")?;
    let roots = workspace.roots();
    let taken = |root: &Root| ARTIFACT_SCHEME.strip_suffix(':') == Some(root.name());
    if roots.len() > 1 && roots.iter().any(taken) {
        bail!(
            "no root can be named `artifact`, which names kept results; give it another: NAME=DIR"
        );
    }
    Ok(workspace)
}

/// A glob that is none would leave out nothing, so there is no run with it. Nothing is walked: the globs are read before the
/// walk is seen to be stopped.
fn check_globs(workspace: &Workspace, exclude: &[String]) -> Result<()> {
    for glob in exclude {
        let stopped = WalkOptions::new().stop(Arc::new(true.into())).glob(format!("!{glob}"));
        match workspace.walk(&WorkspacePath::working_directory(), &stopped) {
            Err(error) if error.kind() == ErrorKind::InvalidGlob => {
                let said = edge::message(&error.to_string());
                bail!("`exclude` in {CHECKOUT_FILE} or in your own configuration: {said}")
            }
            _ => {}
        }
    }
    Ok(())
}

/// A person is asked where one is; elsewhere nobody is, and what needs approval is refused.
pub(crate) fn default_approve() -> Approve {
    if Terminal::is_there() { Approve::Ask } else { Approve::None }
}

/// A port with nobody behind it.
pub(crate) struct Nobody;

impl CardPort for Nobody {
    fn connected(&self) -> bool {
        false
    }

    fn present(
        &self,
        _card: agent_tool_core::Card,
    ) -> agent_tool_core::BoxFuture<'_, Result<agent_tool_core::Reply, agent_tool_core::CardError>>
    {
        Box::pin(async { Ok(agent_tool_core::Reply::Withdrawn) })
    }
}

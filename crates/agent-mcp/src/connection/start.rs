//! From a configuration to a server that answers.

use std::{
    collections::BTreeMap,
    fmt,
    path::PathBuf,
    sync::{OnceLock, atomic::AtomicBool},
    time::Duration,
};

use agent_process::{ExitReport, Finder, Launcher, Place, Process, Program, Wanted};
use agent_tool_core::Secrets;
use rmcp::{
    model::{ProtocolVersion, ServerCapabilities, ServerPeerInfo},
    service::serve_directly,
};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::{Connection, doubt::Doubt, pending::Cancels};
use crate::{
    config::{ServerConfig, expanded, is_secret},
    elicit::Asker,
    era::{self, Era, First, NotOpened, STATELESS},
    handler::Handler,
    text::{behind_margin, clean, seconds, secrets},
    times::Times,
    wire::Wire,
};

/// How long the rest of the output of a server that ended is waited for: what it started may hold the pipe open.
const OUTPUT_WAIT: Duration = Duration::from_millis(200);

/// How long the exit of a server that closed its pipes is waited for, to say how it ended.
pub(super) const EXIT_WAIT: Duration = Duration::from_millis(500);

/// So many characters of what a server says at its end are repeated.
const LAST_WORDS_CHARS: usize = 1_000;

/// What a server is started with.
pub(crate) struct Start {
    pub(crate) config: ServerConfig,
    pub(crate) launcher: Launcher,
    pub(crate) finder: Finder,
    pub(crate) place: Place,
    /// Where it starts, unless its configuration says.
    pub(crate) folder: PathBuf,
    pub(crate) asker: Option<Asker>,
    pub(crate) times: Times,
}

/// Why there is no server, for a person or a model to read.
#[derive(Clone, Debug)]
pub(crate) struct NotStarted(pub(crate) String);

impl fmt::Display for NotStarted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Start {
    /// Starts the server and finds out its revision; `known` is the one that it had before.
    pub(crate) async fn connect(&self, known: Option<&Era>) -> Result<Connection, NotStarted> {
        let (program, secrets) = self.program().await?;
        let first = match known {
            Some(Era::Initialize(_)) => First::Initialize,
            _ => First::Discover,
        };
        match self.open(&program, &secrets, first).await {
            // Some servers of the older revisions end at the first message that is not the one they wait for.
            Err(Failed::Ended(_)) if first == First::Discover => {
                self.open(&program, &secrets, First::Initialize).await
            }
            opened => opened,
        }
        .map_err(|failed| NotStarted(last_words(secrets.hidden(failed.to_string()))))
    }

    /// The program with its environment, and what of that nobody else is to read.
    async fn program(&self) -> Result<(Program, Secrets), NotStarted> {
        let config = &self.config;
        let wanted = Wanted::new(&config.command).configured(&config.command).unprobed();
        let found = self.finder.find(&wanted, &self.place).await;
        let found = found.map_err(|missing| NotStarted(missing.to_string()))?;
        let variables = config.env.iter().map(|(name, value)| {
            let value = expanded(value, |name| std::env::var(name).ok()).map_err(|missing| {
                NotStarted(format!(
                    "its `env` refers to ${{{missing}}}, which is not set; set it where this program is started"
                ))
            });
            Ok((name.clone(), value?))
        });
        let variables = variables.collect::<Result<BTreeMap<_, _>, _>>()?;
        let given =
            variables.iter().filter(|(name, _)| is_secret(name, &config.env[name.as_str()]));
        let secrets = secrets(given.map(|(name, value)| (name.clone(), value.clone())));
        let folder = config.cwd.as_ref().unwrap_or(&self.folder);
        let program = Program::new(found.path, folder).args(&config.args);
        let program =
            variables.into_iter().fold(program, |program, (name, value)| program.env(name, value));
        Ok((program, secrets))
    }

    async fn open(
        &self,
        program: &Program,
        secrets: &Secrets,
        first: First,
    ) -> Result<Connection, Failed> {
        let process = self.launcher.spawn(program).await.map_err(Failed::NotSpawned)?;
        let pipes = process.take_stdin().zip(process.take_stdout());
        let (input, output) = pipes.ok_or(Failed::Ended(None))?;
        let mut wire = Wire::new(input, output, secrets.clone());
        let capabilities = match self.asker.as_ref().filter(|asker| asker.connected()) {
            Some(_) => serde_json::to_value(Asker::capability()).unwrap_or_default(),
            None => json!({}),
        };
        let opening = era::open(&mut wire, &capabilities, first, self.times.probe);
        let opened = match timeout(self.times.connect, opening).await {
            Ok(Ok(opened)) => opened,
            Ok(Err(why @ (NotOpened::Ended | NotOpened::Pipe(_)))) => {
                let noise = wire.state().noise();
                if noise.flooded() {
                    return Err(Failed::Flooded(noise.said().unwrap_or_default()));
                }
                return Err(match (timeout(EXIT_WAIT, process.wait()).await, why) {
                    (Ok(exit), _) => Failed::Ended(Some(exit)),
                    (Err(_), NotOpened::Ended) => Failed::Ended(None),
                    (Err(_), why) => Failed::NotOpened(why),
                });
            }
            Ok(Err(why)) => return Err(Failed::NotOpened(why)),
            Err(_) => {
                let noise = wire.state().noise().said();
                return Err(Failed::Silent { within: self.times.connect, noise });
            }
        };
        Ok(self.serve(process, wire, opened))
    }

    fn serve(&self, process: Process, wire: Wire, opened: era::Opened) -> Connection {
        let era::Opened { era, says_it_is } = opened;
        let state = wire.state();
        let version = match &era {
            Era::Stateless => STATELESS,
            Era::Initialize(version) => {
                state.take_requests();
                version
            }
        };
        let version: ProtocolVersion =
            serde_json::from_value(Value::from(version)).unwrap_or_default();
        let info = ServerPeerInfo::new(version, ServerCapabilities::default());
        let calls = state.calls.clone();
        let asker = self.asker.clone();
        let handler = Handler { calls: calls.clone(), asker: asker.clone() };
        let service = serve_directly(handler, wire, Some(info));
        let (mut exit, token) = (process.exit_watch(), service.cancellation_token());
        tokio::spawn(async move {
            exit.wait().await;
            sleep(OUTPUT_WAIT).await;
            token.cancel();
        });
        Connection {
            process,
            service,
            wire: state,
            calls,
            asker,
            answered: AtomicBool::new(false),
            doubt: Doubt::default(),
            cancels: Cancels::new(),
            given_up: OnceLock::new(),
            era,
            says_it_is,
        }
    }
}

/// Why a process is no server.
#[derive(Debug)]
enum Failed {
    NotSpawned(agent_process::Error),
    Ended(Option<ExitReport>),
    Flooded(String),
    NotOpened(NotOpened),
    Silent { within: Duration, noise: Option<String> },
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotSpawned(error) => write!(f, "{error}"),
            Self::Ended(Some(exit)) => write!(f, "it answered nothing and {exit}"),
            Self::Ended(None) => f.write_str("it answered nothing and closed its output"),
            Self::Flooded(said) => write!(f, "it was given up before it answered: {said}"),
            Self::NotOpened(NotOpened::Ended) => f.write_str("it closed its output"),
            Self::NotOpened(NotOpened::Pipe(error)) => {
                write!(f, "its input could not be written: {error}")
            }
            Self::NotOpened(NotOpened::Refused(said)) => {
                write!(f, "it refused to be spoken to: {said}")
            }
            Self::NotOpened(NotOpened::NoCommonRevision(theirs)) => match theirs.as_slice() {
                [] => f.write_str("it names no revision that can be read"),
                theirs => write!(
                    f,
                    "it speaks the revisions {}, and none of them is known here",
                    theirs.join(", ")
                ),
            },
            Self::NotOpened(NotOpened::OtherWay) => write!(
                f,
                "it answers `initialize` with the revision {STATELESS}, which is spoken by `server/discover`, and that it did not \
                 answer so"
            ),
            Self::Silent { within, noise } => {
                write!(f, "it answered nothing within {} s", seconds(*within))?;
                match noise {
                    Some(noise) => write!(f, "; {noise}"),
                    None => Ok(()),
                }
            }
        }
    }
}

/// What is said of a server's end, with its own last words behind it, each of their lines behind a margin.
pub(super) fn last_words(how: String) -> String {
    let how = agent_tool_core::clip(&clean(&how), LAST_WORDS_CHARS).text;
    let Some((head, words)) = how.split_once('\n') else { return how };
    let words: Vec<_> = words.lines().map(|line| line.strip_prefix("> ").unwrap_or(line)).collect();
    [vec![head.to_owned()], behind_margin(&words.join("\n"))].concat().join("\n")
}

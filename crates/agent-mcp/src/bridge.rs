//! All servers of a run.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use agent_process::{Finder, Launcher, Place, ShutdownSteps};
use agent_tool_core::{CardQueue, Tool};
use futures::future::join_all;

use crate::{
    ServerConfig, Servers, Times,
    connection::Start,
    elicit::Asker,
    listing::{self, Listed},
    name::{self, Taken},
    report::{ServerReport, ToolReport},
    server::Server,
    text::clean_line,
    tool::Bridged,
};

/// So many characters of a name are repeated in what is said about it.
const SHOWN_CHARS: usize = 80;

/// The servers of a run with the tools that they had when it began. A clone means the same ones; with the last one, and the last of
/// its tools, the servers are killed.
#[derive(Clone)]
pub struct Bridge {
    servers: Vec<Arc<Server>>,
    tools: Vec<Arc<Bridged>>,
    reports: Vec<ServerReport>,
}

/// What a [`Bridge`] is made with.
#[derive(Debug)]
#[must_use]
pub struct BridgeBuilder {
    launcher: Launcher,
    folder: PathBuf,
    place: Place,
    cards: Option<CardQueue>,
    times: Times,
    waiting: Waiting,
}

/// The servers that [`BridgeBuilder::connect`] waits for. A clone means the same.
#[derive(Clone, Debug, Default)]
pub struct Waiting(Arc<Mutex<BTreeSet<String>>>);

impl Waiting {
    /// Their names, none before it began and once it is done.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.lock().iter().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Bridge {
    /// Servers that this launcher starts in this folder: its rule for the environment, its guard, its sandbox. What a server finds
    /// in its folder may be run by it (a package runner looks there first), so a checkout that is not trusted is no such folder.
    pub fn builder(launcher: Launcher, folder: impl Into<PathBuf>) -> BridgeBuilder {
        let place = Place::new(Vec::<PathBuf>::new());
        BridgeBuilder {
            launcher,
            folder: folder.into(),
            place,
            cards: None,
            times: Times::new(),
            waiting: Waiting::default(),
        }
    }

    /// The tools, in the order of the servers' names and then of each server's own list.
    #[must_use]
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.tools.iter().map(|tool| Arc::clone(tool) as Arc<dyn Tool>).collect()
    }

    /// What became of each server when the run began.
    #[must_use]
    pub fn reports(&self) -> &[ServerReport] {
        &self.reports
    }

    /// The same after each server was asked whether it is still there, which takes at most [`Times::hung`]: one that is not has a `why`.
    pub async fn probe(&self) -> Vec<ServerReport> {
        let gone = join_all(self.servers.iter().map(|server| server.gone())).await;
        let gone: BTreeMap<_, _> =
            self.servers.iter().map(|server| &server.name).zip(gone).collect();
        let mut reports = self.reports.clone();
        for report in &mut reports {
            let gone = gone.get(&report.name).and_then(Option::as_deref);
            let since =
                |gone| format!("it listed its tools, and then {gone}; a call starts it again");
            report.why = report.why.take().or_else(|| gone.map(since));
        }
        reports
    }

    /// Ends the servers as the protocol has it: their input is closed, and who does not end is made to, within a second each. A
    /// later call starts its server again.
    pub async fn close(&self) {
        let steps = ShutdownSteps::new();
        join_all(self.servers.iter().map(|server| server.close(&steps))).await;
    }
}

impl BridgeBuilder {
    /// The checkout, and whether it is trusted: in one that is not, no program is started as a server.
    pub fn place(mut self, place: Place) -> Self {
        self.place = place;
        self
    }

    /// The person whom a server may ask, in the run's queue of cards. Without it no server is told that it may.
    pub fn cards(mut self, cards: CardQueue) -> Self {
        self.cards = Some(cards);
        self
    }

    /// Other bounds.
    pub fn times(mut self, times: Times) -> Self {
        self.times = times;
        self
    }

    /// Whom [`BridgeBuilder::connect`] waits for while it runs, for a host that says so.
    pub fn waiting(&self) -> Waiting {
        self.waiting.clone()
    }

    /// Starts all servers at once and lists their tools. It does not fail: what a server lacks is in its report, and the others are
    /// there. Needs a tokio runtime with I/O and time, and takes at most [`Times::connect`] twice and [`Times::list`].
    pub async fn connect(self, servers: Servers) -> Bridge {
        let finder = Finder::new(self.launcher.clone());
        let connecting = servers.entries.into_iter().map(|(name, entry)| {
            let start = entry.map(|config| self.start(&name, config, finder.clone()));
            let waiting = self.waiting.clone();
            waiting.lock().insert(name.clone());
            async move {
                let connected = connect(name, start).await;
                waiting.lock().remove(&connected.report.name);
                connected
            }
        });
        let connected = join_all(connecting).await;
        let all = connected.iter().flat_map(|connected| {
            let tools = connected.listed.tools.iter();
            tools.map(|tool| (connected.report.name.clone(), tool.name.clone()))
        });
        let all: Vec<(String, String)> = all.collect();
        let pairs: Vec<_> =
            all.iter().map(|(server, tool)| (server.as_str(), tool.as_str())).collect();
        let mut names = name::names(&pairs).into_iter();
        let mut bridge = Bridge { servers: Vec::new(), tools: Vec::new(), reports: Vec::new() };
        for Connected { server, mut report, listed } in connected {
            let named = listed.tools.into_iter().zip(names.by_ref());
            if let Some((server, config)) = server {
                for (listing, name) in named {
                    let name = match name {
                        Ok(name) => name,
                        Err(Taken { name, by }) => {
                            report.remarks.push(left_out(&listing.name, &name, &all[by]));
                            continue;
                        }
                    };
                    let tool = Bridged::new(name, Arc::clone(&server), &config, listing);
                    report.tools.push(ToolReport::of(&tool));
                    bridge.tools.push(Arc::new(tool));
                }
                bridge.servers.push(server);
            }
            bridge.reports.push(report);
        }
        bridge
    }

    fn start(&self, name: &str, config: ServerConfig, finder: Finder) -> Start {
        Start {
            config,
            launcher: self.launcher.clone(),
            finder,
            place: self.place.clone(),
            folder: self.folder.clone(),
            asker: self.cards.clone().map(|cards| Asker::new(name, cards)),
            times: self.times,
        }
    }
}

/// A server that was tried.
struct Connected {
    server: Option<(Arc<Server>, ServerConfig)>,
    report: ServerReport,
    listed: Listed,
}

async fn connect(name: String, start: Result<Start, String>) -> Connected {
    let mut report = ServerReport::new(name.clone());
    let mut listed = Listed::default();
    let start = match start {
        Ok(start) => start,
        Err(why) => {
            report.why = Some(format!("its configuration {why}"));
            return Connected { server: None, report, listed };
        }
    };
    let config = start.config.clone();
    let server = Arc::new(Server::new(name, start));
    let connection = match server.connection().await {
        Ok(connection) => connection,
        Err(why) => {
            report.why = Some(why.to_string());
            return Connected { server: None, report, listed };
        }
    };
    report.revision = Some(connection.era.to_string());
    report.says_it_is.clone_from(&connection.says_it_is);
    match listing::list(&connection, server.times().list).await {
        Ok(list) => listed = list,
        Err(why) => report.why = Some(why),
    }
    report.remarks = std::mem::take(&mut listed.remarks);
    report.remarks.extend(connection.noise().said());
    Connected { server: Some((server, config)), report, listed }
}

/// What is said of a tool whose name in the run an earlier one has.
fn left_out(tool: &str, name: &str, (server, earlier): &(String, String)) -> String {
    format!(
        "`{}` was left out: in the run it would be {name}, and so is `{}` of the MCP server {} called; give one of the servers \
         another name, or have the tool renamed",
        clean_line(tool, SHOWN_CHARS),
        clean_line(earlier, SHOWN_CHARS),
        clean_line(server, SHOWN_CHARS)
    )
}

impl fmt::Debug for Bridge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bridge").field("reports", &self.reports).finish_non_exhaustive()
    }
}

//! Which servers there are: what a person wrote, in the form that hosts share.

mod entry;
mod variables;

use std::{
    collections::{BTreeMap, BTreeSet},
    error::Error,
    fmt,
    path::PathBuf,
    time::Duration,
};

use agent_process::EnvironmentRule;
use agent_tool_core::{Tier, counted};
use serde_json::{Map, Value};

pub(crate) use self::variables::expanded;
use self::variables::referenced;
use crate::text::seconds;

/// The key under which hosts keep their servers.
const SERVERS: &str = "mcpServers";

/// How long a call may take unless its server's `timeout` says otherwise.
pub const DEFAULT_CALL_TIME: Duration = Duration::from_secs(120);

/// The longest `timeout`, in seconds.
pub const MAX_CALL_SECONDS: f64 = 3600.0;

/// The servers that a person wants, by their names. A server that is written wrong is kept with the reason, so that the others
/// can be used and a report can say why it is not.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Servers {
    pub(crate) entries: BTreeMap<String, Entry>,
    /// Those that are turned off: none of these names is among the entries.
    disabled: BTreeSet<String>,
    remarks: Vec<String>,
}

/// One of them, or why it is none.
pub(crate) type Entry = Result<ServerConfig, String>;

/// How one server is started, and how far it is trusted. Its `Debug` has no value of `env`.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct ServerConfig {
    /// The program: an absolute path, or a name for the search path.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// What is added to its environment; `${NAME}` in a value stands for the variable of the environment.
    pub env: BTreeMap<String, String>,
    /// The folder that it starts in, where it is not the bridge's.
    pub cwd: Option<PathBuf>,
    /// Whether what it says of its own tools is believed.
    pub trust: ServerTrust,
    /// The tier of its tools; `exec` unless the person says otherwise.
    pub tier: Tier,
    /// How long one call may take.
    pub timeout: Duration,
}

/// Whether what a server says of its own tools is believed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ServerTrust {
    /// Nothing that it says lowers a tier.
    #[default]
    Untrusted,
    /// A tool that it calls read-only is of the tier `read`.
    Trusted,
}

impl Servers {
    /// Reads a file of a host: `{"mcpServers": {"name": {"command": …, "args": […], "env": {…}}}}`, where a server may also
    /// have `cwd`, `trust`, `tier`, `timeout` in seconds, `disabled` and `"type": "stdio"`. What else stands there is remarked
    /// upon.
    ///
    /// # Errors
    ///
    /// A text that is no JSON, or has no object `mcpServers`.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        let value: Value = serde_json::from_str(text)
            .map_err(|error| ConfigError(format!("this is no JSON: {error}")))?;
        let (mut servers, mut others) = (None, Vec::new());
        let Value::Object(fields) = value else { return Err(no_servers()) };
        for (key, value) in fields {
            match value {
                Value::Object(table) if key == SERVERS => servers = Some(table),
                _ if key == SERVERS => return Err(no_servers()),
                _ => others.push(format!("`{key}` beside `{SERVERS}` is unknown and was ignored")),
            }
        }
        let mut servers = Self::of(servers.ok_or_else(no_servers)?);
        servers.remarks.splice(..0, others);
        Ok(servers)
    }

    /// The servers of a table, each under its name: what stands under `mcpServers`.
    #[must_use]
    pub fn of(table: Map<String, Value>) -> Self {
        let mut servers = Self::default();
        for (name, value) in table {
            match entry::read(&name, value, &mut servers.remarks) {
                Ok(None) => drop(servers.disabled.insert(name)),
                Ok(Some(config)) => drop(servers.entries.insert(name, Ok(config))),
                Err(why) => drop(servers.entries.insert(name, Err(why))),
            }
        }
        servers
    }

    /// One more server. One of the same name gives way.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, config: ServerConfig) -> Self {
        let name = name.into();
        self.disabled.remove(&name);
        self.entries.insert(name, Ok(config));
        self
    }

    /// These servers and those, whose word counts where both have a name: also that one is turned off.
    #[must_use]
    pub fn and(mut self, stronger: Self) -> Self {
        self.entries.retain(|name, _| !stronger.disabled.contains(name));
        self.disabled.retain(|name| !stronger.entries.contains_key(name));
        self.entries.extend(stronger.entries);
        self.disabled.extend(stronger.disabled);
        self.remarks.extend(stronger.remarks);
        self
    }

    /// What was found and not followed, a sentence each.
    #[must_use]
    pub fn remarks(&self) -> Vec<String> {
        let disabled =
            self.disabled.iter().map(|name| format!("the MCP server `{name}` is disabled"));
        self.remarks.iter().cloned().chain(disabled).collect()
    }

    /// Their names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// Each by its name and in words: its program and what is said of it, the names of its variables and no values of them.
    pub fn described(&self) -> impl Iterator<Item = (&str, String)> {
        self.entries.iter().map(|(name, entry)| match entry {
            Ok(config) => (name.as_str(), config.in_words()),
            Err(why) => (name.as_str(), format!("not used: {why}")),
        })
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The variables of the environment that servers are given by `${NAME}`: tokens that nobody else is to get.
    #[must_use]
    pub fn variables(&self) -> BTreeSet<String> {
        let configs = self.entries.values().filter_map(|entry| entry.as_ref().ok());
        configs.flat_map(|config| config.env.values()).flat_map(|value| referenced(value)).collect()
    }

    /// The names of servers that their entry disables.
    pub fn disabled(&self) -> impl Iterator<Item = String> + use<> {
        self.disabled.clone().into_iter()
    }

    /// What servers are given that a name says is a secret, as it is now, each under the name of its variable: the server's own or
    /// the one of the environment that it refers to.
    #[must_use]
    pub fn secrets(&self) -> Vec<(String, String)> {
        let lookup = |name: &str| std::env::var(name).ok();
        let configs = self.entries.values().filter_map(|entry| entry.as_ref().ok());
        let given = configs.flat_map(|config| &config.env).flat_map(|(name, value)| {
            let referenced = referenced(value).into_iter();
            let referenced = referenced.filter_map(|name| Some((lookup(&name)?, name)));
            let own = expanded(value, lookup).ok().map(|value| (value, name.clone()));
            referenced.chain(own).map(|(value, name)| (name, value)).collect::<Vec<_>>()
        });
        given.filter(|(name, _)| reads_like_a_secret(name)).collect()
    }
}

/// Whether a variable of a server's is one that nobody else is to read: its name reads like a secret, or it refers to the
/// environment.
pub(crate) fn is_secret(name: &str, value: &str) -> bool {
    reads_like_a_secret(name) || !referenced(value).is_empty()
}

fn reads_like_a_secret(name: &str) -> bool {
    !EnvironmentRule::new().passes(name.as_ref())
}

impl ServerConfig {
    /// `notes-mcp with 2 arguments, env TOKEN, tier exec, 120 s a call`.
    fn in_words(&self) -> String {
        let mut words = match self.args.len() {
            0 => self.command.clone(),
            count => format!("{} with {}", self.command, counted(count, "argument")),
        };
        if !self.env.is_empty() {
            let names: Vec<_> = self.env.keys().map(String::as_str).collect();
            words.push_str(&format!(", env {}", names.join(" ")));
        }
        if let Some(cwd) = &self.cwd {
            words.push_str(&format!(", in {}", cwd.display()));
        }
        if self.trust == ServerTrust::Trusted {
            words.push_str(", trusted");
        }
        format!("{words}, tier {}, {} s a call", self.tier, seconds(self.timeout))
    }

    /// A server of this program, of which nothing is believed.
    #[must_use]
    pub fn new(command: impl Into<String>) -> Self {
        Self {
            command: command.into(),
            args: Vec::new(),
            env: BTreeMap::new(),
            cwd: None,
            trust: ServerTrust::Untrusted,
            tier: Tier::Exec,
            timeout: DEFAULT_CALL_TIME,
        }
    }

    /// The same with these arguments.
    #[must_use]
    pub fn args<A: Into<String>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args = args.into_iter().map(Into::into).collect();
        self
    }

    /// The same with one more variable.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }

    /// The same, believed or not.
    #[must_use]
    pub fn trust(mut self, trust: ServerTrust) -> Self {
        self.trust = trust;
        self
    }

    /// The same with tools of this tier.
    #[must_use]
    pub fn tier(mut self, tier: Tier) -> Self {
        self.tier = tier;
        self
    }

    /// The same with so long for each call.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }
}

impl fmt::Debug for ServerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerConfig")
            .field("command", &self.command)
            .field("args", &self.args)
            .field("env", &self.env.keys())
            .field("cwd", &self.cwd)
            .field("trust", &self.trust)
            .field("tier", &self.tier)
            .field("timeout", &self.timeout)
            .finish()
    }
}

/// A text that names no servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError(String);

fn no_servers() -> ConfigError {
    ConfigError(format!(
        "there is no object `{SERVERS}`; write {{\"{SERVERS}\": {{\"name\": {{\"command\": \"program\", \"args\": []}}}}}}"
    ))
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for ConfigError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_of_hosts_is_read_and_what_is_unknown_is_said() {
        let servers = Servers::parse(
            r#"{"inputs": [], "mcpServers": {
                "notes": {"type": "stdio", "command": "notes-mcp", "args": ["--root", "/x"], "env": {"A": "1", "T": "${TOKEN}"},
                          "cwd": "/srv", "trust": true, "tier": "write", "timeout": 2.5, "autoApprove": ["x"]},
                "plain": {"command": "/bin/plain"},
                "off": {"command": "x", "disabled": true}}}"#,
        )
        .unwrap();
        let notes = servers.entries["notes"].clone().unwrap();
        let mut expected = ServerConfig::new("notes-mcp")
            .args(["--root", "/x"])
            .env("A", "1")
            .env("T", "${TOKEN}")
            .trust(ServerTrust::Trusted)
            .tier(Tier::Write)
            .timeout(Duration::from_millis(2500));
        expected.cwd = Some("/srv".into());
        assert_eq!(notes, expected);
        assert_eq!(servers.entries["plain"], Ok(ServerConfig::new("/bin/plain")));
        assert_eq!(
            servers.remarks(),
            [
                "`inputs` beside `mcpServers` is unknown and was ignored",
                "the MCP server `notes` has `autoApprove`, which is unknown and was ignored; it may have command, args, env, \
                 cwd, trust, tier, timeout, disabled and type",
                "the MCP server `off` is disabled",
            ]
        );
        assert_eq!(servers.variables(), BTreeSet::from(["TOKEN".to_owned()]));
    }

    #[test]
    fn a_server_that_is_written_wrong_says_what_is_and_costs_no_other_one() {
        let cases = [
            (
                r#"{"url": "http://x"}"#,
                "is one over the network (`url`), and only programs over standard input and output",
            ),
            (r#"{"type": "http", "command": "x"}"#, "has the type \"http\""),
            (r#"{"args": []}"#, "has no `command`"),
            (r#"{"command": ""}"#, "`command` is empty"),
            (r#"{"command": 1}"#, "`command` takes a text"),
            (r#"{"command": "x", "args": "y"}"#, "`args` takes a list of texts"),
            (r#"{"command": "x", "env": {"A": 1}}"#, "`env` takes an object of texts"),
            (r#"{"command": "x", "env": {"A": "${B:-c}"}}"#, "`env` has `${B:-c}`"),
            (r#"{"command": "x", "cwd": "y"}"#, "`cwd` takes an absolute path"),
            (r#"{"command": "x", "trust": "yes"}"#, "`trust` takes true or false"),
            (r#"{"command": "x", "tier": "none"}"#, "`tier` takes \"read\", \"write\" or \"exec\""),
            (
                r#"{"command": "x", "timeout": 60000}"#,
                "`timeout` takes seconds, more than 0 and at most 3600",
            ),
            (r#"{"command": "x", "timeout": 0}"#, "`timeout` takes seconds"),
            ("[]", "takes an object"),
        ];
        for (wrong, said) in cases {
            let text =
                format!(r#"{{"mcpServers": {{"bad": {wrong}, "good": {{"command": "x"}}}}}}"#);
            let servers = Servers::parse(&text).unwrap();
            let why = servers.entries["bad"].clone().unwrap_err();
            assert!(why.contains(said), "{wrong}: {why}");
            assert!(servers.entries["good"].is_ok());
        }
        let nameless = Servers::parse(r#"{"mcpServers": {"": {"command": "x"}}}"#).unwrap();
        assert!(nameless.entries[""].clone().unwrap_err().contains("under an empty name"));
        for text in ["", "[]", "{}", r#"{"mcpServers": []}"#] {
            let error = Servers::parse(text).unwrap_err().to_string();
            assert!(error.contains("no JSON") || error.contains("there is no object"), "{error}");
        }
    }

    #[test]
    fn of_two_files_the_stronger_one_counts() {
        let server = |command: &str| Servers::default().with("a", ServerConfig::new(command));
        let weak = server("weak").with("b", ServerConfig::new("b"));
        let both = weak.and(server("strong"));
        assert_eq!(both.names().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(both.entries["a"], Ok(ServerConfig::new("strong")));
    }

    #[test]
    fn what_the_stronger_file_turns_off_is_off_and_what_it_turns_on_is_on() {
        let on = || Servers::default().with("a", ServerConfig::new("x"));
        let off = || {
            Servers::parse(r#"{"mcpServers": {"a": {"command": "x", "disabled": true}}}"#).unwrap()
        };
        for (servers, names, remarks) in [
            (on().and(off()), vec![], vec!["the MCP server `a` is disabled"]),
            (off().and(on()), vec!["a"], vec![]),
            (on().and(off()).and(on()), vec!["a"], vec![]),
            (off().with("a", ServerConfig::new("x")), vec!["a"], vec![]),
            (
                on().and(off()).and(Servers::default()),
                vec![],
                vec!["the MCP server `a` is disabled"],
            ),
        ] {
            assert_eq!(servers.names().collect::<Vec<_>>(), names);
            assert_eq!(servers.remarks(), remarks);
        }
    }
}

use std::{sync::Arc, time::Duration};

use agent_loop::{
    Agent, Conversation, Retry, Turn, TurnEvent,
    providers::{self, Key, Remote},
};
use agent_testkit::model::{Format, ModelServer, Received, Rule, Script};
use agent_tool_core::Context;

use crate::support::{self, Toolbox};

/// What no text but a header may hold.
pub(crate) const KEY: &str = "sk-test-0123456789abcdefghijklmnop";

pub(crate) const VARIABLE: &str = "SCRIPTED_API_KEY";

/// A server and an agent that asks it.
pub(crate) struct Peer {
    pub(crate) server: ModelServer,
    pub(crate) agent: Agent,
    pub(crate) toolbox: Toolbox,
    pub(crate) conversation: Conversation,
}

pub(crate) fn peer(format: Format, rules: impl IntoIterator<Item = Rule>) -> Peer {
    let server = ModelServer::start(Script::of(rules).with_key(KEY)).unwrap();
    let toolbox = Toolbox::new();
    let agent = agent_of(remote(format, &server.url(), "scripted-1"), &toolbox);
    Peer { server, agent, toolbox, conversation: Conversation::new() }
}

pub(crate) fn remote(format: Format, url: &str, model: &str) -> Remote {
    let remote = Remote::of(named(format), url, model).unwrap();
    remote.with_key(Key::new(VARIABLE, KEY).unwrap()).unwrap()
}

pub(crate) fn agent_of(remote: Remote, toolbox: &Toolbox) -> Agent {
    Agent::new(Arc::new(remote), Arc::new(toolbox.clone()), Context::detached())
        .system("Be brief.")
        .retry(Retry::default().with_first(Duration::from_millis(2)))
}

pub(crate) fn named(format: Format) -> providers::Format {
    match format {
        Format::Anthropic => providers::Format::Anthropic,
        Format::OpenAi => providers::Format::OpenAi,
    }
}

impl Peer {
    pub(crate) async fn ask(&mut self, text: &str) -> (Turn, Vec<TurnEvent>) {
        support::ask(&self.agent, &mut self.conversation, text).await
    }

    pub(crate) fn requests(&self) -> Vec<Received> {
        self.server.requests()
    }
}

/// The errors after which a request was made again: kind and wait.
pub(crate) fn retries(events: &[TurnEvent]) -> Vec<(&'static str, Duration)> {
    let retries = events.iter().filter_map(|event| match event {
        TurnEvent::Retrying { error, wait, .. } => Some((error.kind.as_str(), *wait)),
        _ => None,
    });
    retries.collect()
}

//! Whose code may run: what its person said of a checkout, and where that is remembered.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use agent_tool_core::{
    CallId, Caller, Card, CardKind, CardOption, CardPort, Effect, Preview, PreviewKind, Reply, clip,
};
use agent_workspace::path_to_uri;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{
    config::{CHECKOUT_FILE, Config},
    state::State,
    style::{FAINT, in_style, remark},
};

/// So many characters of the checkout's configuration are on the card.
const SHOWN_CHARS: usize = 4_000;

/// What would change that a checkout is not trusted.
const WOULD_CHANGE: &str = "--trust, AGENT_RUN_TRUST=1, `trusted` in your own configuration or, where it has a configuration of its own, \
     the card at a terminal would";

/// Whether the checkout's own programs may run, and who said so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// Nobody said anything.
    Untrusted,
    /// It was answered on a card for a configuration that is another one now.
    Changed,
    /// By a card: no.
    Refused,
    /// By the host: no.
    RefusedByHost,
    /// By `--trust`, or the host's `initialize`.
    Flag,
    /// By `AGENT_RUN_TRUST=1`.
    Environment,
    /// By the person's own file, which lists the path.
    Configured,
    /// By a card.
    Remembered,
}

impl Trust {
    pub(crate) fn is_trusted(self) -> bool {
        matches!(self, Trust::Flag | Trust::Environment | Trust::Configured | Trust::Remembered)
    }

    /// The layer of the configuration that it comes from.
    pub(crate) fn layer(self) -> &'static str {
        match self {
            Trust::Untrusted | Trust::Changed => "default",
            Trust::Refused | Trust::Remembered => "card",
            Trust::RefusedByHost => "host",
            Trust::Flag => "flags",
            Trust::Environment => "environment",
            Trust::Configured => "person",
        }
    }

    pub(crate) fn said_by(self) -> String {
        match self {
            Trust::Untrusted => {
                format!("nobody said that this checkout is trusted; {WOULD_CHANGE}")
            }
            Trust::Changed => format!(
                "the checkout's configuration changed since you were asked whether to trust it; {WOULD_CHANGE}"
            ),
            Trust::Refused => format!("you said on a card that it is not; {WOULD_CHANGE}"),
            Trust::RefusedByHost => "the host said that it is not".to_owned(),
            Trust::Flag => "--trust".to_owned(),
            Trust::Environment => "AGENT_RUN_TRUST".to_owned(),
            Trust::Configured => "`trusted` in your configuration".to_owned(),
            Trust::Remembered => "you said so on a card".to_owned(),
        }
    }
}

/// What was answered for one checkout. It holds for one content of its configuration.
#[derive(Debug, Serialize, Deserialize)]
struct Remembered {
    /// The canonical path, as a URI: a path need not be UTF-8.
    checkout: String,
    /// SHA-256 of the configuration file, in hex.
    configuration: String,
    answer: Answer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    Trusted,
    Refused,
}

/// What was answered earlier, held against the configuration that the checkout has now.
pub(crate) fn recall(checkout: &Path, configuration: Option<&str>) -> Trust {
    let uri = path_to_uri(checkout);
    let Ok(file) = file_of(&uri) else { return Trust::Untrusted };
    let Ok(bytes) = fs::read(file) else { return Trust::Untrusted };
    match serde_json::from_slice::<Remembered>(&bytes) {
        Ok(entry) if entry.checkout != uri => Trust::Untrusted,
        Ok(entry) if configuration.map(digest).as_ref() != Some(&entry.configuration) => {
            Trust::Changed
        }
        Ok(entry) if entry.answer == Answer::Trusted => Trust::Remembered,
        Ok(_) => Trust::Refused,
        Err(_) => Trust::Untrusted,
    }
}

/// Asks the person once, where one is there and the checkout has a configuration to trust. What is
/// not plainly a yes leaves it untrusted.
pub(crate) async fn ask(config: &mut Config, port: &dyn CardPort) -> io::Result<()> {
    let open = matches!(config.trust, Trust::Untrusted | Trust::Changed);
    let Some(text) = config.checkout_text.clone().filter(|_| open && port.connected()) else {
        return Ok(());
    };
    let card = card(config, &text).for_person();
    let Ok(Reply::Chosen { options, .. }) = port.present(card).await else { return Ok(()) };
    let answer = match options.first().map(String::as_str) {
        Some("trust") => Answer::Trusted,
        Some("refuse") => Answer::Refused,
        _ => return Ok(()),
    };
    let checkout = path_to_uri(config.working());
    let file = file_of(&checkout);
    let entry = Remembered { checkout, configuration: digest(&text), answer };
    let entry = serde_json::to_vec_pretty(&entry)?;
    if let Err(error) = file.and_then(|file| State::replace(&file, &entry)) {
        let said = format!(
            "the answer holds for this run and is not remembered ({error}); name a folder that you can write by XDG_STATE_HOME"
        );
        remark(in_style(FAINT, said));
    }
    config.trust = if answer == Answer::Trusted { Trust::Remembered } else { Trust::Refused };
    Ok(())
}

fn card(config: &Config, text: &str) -> Card {
    let id = CallId::new("trust");
    let mut card = Card::new(CardKind::Question, "trust", id.clone(), "Trust this checkout?");
    let since = match config.trust {
        Trust::Changed => ", which changed since you were asked",
        _ => "",
    };
    card.body = format!(
        "{} has a configuration of its own{since}. If you trust it, programs that are found in it may be \
         started where a tool needs them; its configuration still only narrows what a run may do.",
        config.working().display()
    );
    card.asked_by = vec![Caller::new(id, "agent-run")];
    let preview = Preview::new(PreviewKind::Read, CHECKOUT_FILE);
    card.preview = Some(preview.with_clipped(clip(text, SHOWN_CHARS)));
    let remembered = "remembered until its configuration changes";
    let options = [
        ("trust", "trust it", remembered, Effect::AllowOnce),
        ("later", "not now", "you are asked again next time", Effect::RejectOnce),
        ("refuse", "do not trust it", remembered, Effect::RejectRun),
    ];
    let option = |(id, label, more, effect): (&str, &str, &str, Effect)| {
        CardOption::new(id, label).with_description(more).with_effect(effect)
    };
    card.options = options.into_iter().map(option).collect();
    card
}

/// One file for each checkout, so that two runs that are answered at once lose nothing.
fn file_of(uri: &str) -> io::Result<PathBuf> {
    let home = State::home_path().map_err(io::Error::other)?;
    Ok(home.join("trust").join(format!("{}.json", digest(uri))))
}

fn digest(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

use std::{
    error::Error,
    fmt::Write,
    sync::{Arc, Mutex},
};

use agent_loop::{
    Conversation, End, ModelErrorKind, Retry, TurnEvent,
    providers::{Key, Remote},
};
use agent_testkit::model::{Break, Fail, Format, How, ModelServer, Rule, Script};
use serde_json::json;
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span,
};

use super::peer::{KEY, VARIABLE, agent_of, named, peer, remote};
use crate::support::{Toolbox, ask, end};

/// Keeps everything that is logged on any level.
#[derive(Clone, Default)]
struct Logged(Arc<Mutex<String>>);

impl Subscriber for Logged {
    fn enabled(&self, _metadata: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &span::Attributes<'_>) -> span::Id {
        span.record(&mut self.clone());
        span::Id::from_u64(1)
    }

    fn record(&self, _span: &span::Id, values: &span::Record<'_>) {
        values.record(&mut self.clone());
    }

    fn record_follows_from(&self, _span: &span::Id, _follows: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        event.record(&mut self.clone());
    }

    fn enter(&self, _span: &span::Id) {}

    fn exit(&self, _span: &span::Id) {}
}

impl Visit for Logged {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let _ = writeln!(self.0.lock().unwrap(), "{field}: {value:?}");
    }
}

// spec: TRUST-04
/// Everything that can be seen of a turn, whose server repeats the key wherever it can.
pub(crate) async fn a_key_is_in_its_header_and_nowhere_else(format: Format) {
    let masked = format!("{}*******{}", &KEY[..9], &KEY[30..]);
    let said = format!("the key {KEY} and ({masked}) are mine");
    let echo = |status| Rule::fail(status, "api_error", &said);
    let fail = Fail { kind: "api_error".into(), message: said.clone(), ..Fail::default() };
    let broken =
        Rule { breaks: Some(Break { after: 3, how: How::Error(fail) }), ..Rule::text("half") };
    let logged = Logged::default();
    let _logging = tracing::subscriber::set_default(logged.clone());
    tracing::info!("this is logged");
    let mut peer =
        peer(format, [echo(500), broken, echo(429), Rule::call("read", json!({})), echo(400)]);
    let (turn, events) = peer.ask("hello").await;
    let End::Failed { error } = &turn.end else { panic!("{:?}", turn.end) };
    let mut seen = format!("{:?}\n{turn:?}\n{events:?}\n{error} {error:?}\n", peer.agent);
    let mut source: Option<&dyn Error> = error.source();
    while let Some(error) = source {
        let _ = writeln!(seen, "{error} {error:?}");
        source = error.source();
    }
    seen += &serde_json::to_string(&turn).unwrap();
    seen += &serde_json::to_string(&peer.conversation).unwrap();
    seen += &format!("{:?}", remote(format, &peer.server.url(), "scripted-1"));
    let logged = logged.0.lock().unwrap().clone();
    assert!(logged.contains("this is logged"));
    let hidden = format!("the key [{VARIABLE}] and ([{VARIABLE}] are mine");
    assert!(seen.contains(&hidden), "{seen}");
    for (what, text) in [("shown", &seen), ("logged", &logged)] {
        assert!(!text.contains(&KEY[..9]), "{what}: {text}");
        assert!(!text.contains(&KEY[30..]), "{what}: {text}");
    }
    let requests = peer.requests();
    assert_eq!(requests.len(), 5);
    for request in requests {
        assert_eq!(request.key(), Some(KEY));
        assert!(!request.body.to_string().contains(KEY));
    }
}

pub(crate) async fn a_wrong_key_says_which_variable_to_look_at(format: Format) {
    for wrong in [KEY, "short"] {
        let script = Script::of([Rule::text("never")]).with_key("another");
        let server = ModelServer::start(script).unwrap();
        let remote = Remote::of(named(format), &server.url(), "scripted-1").unwrap();
        let remote = remote.with_key(Key::new(VARIABLE, wrong).unwrap()).unwrap();
        let agent = agent_of(remote, &Toolbox::new());
        let (turn, events) = ask(&agent, &mut Conversation::new(), "hello").await;
        let error = &end(&turn.end)["error"];
        assert_eq!((&error["kind"], &error["status"]), (&json!("authentication"), &json!(401)));
        let said = error["message"].as_str().unwrap();
        let expected = format!("provided: [{VARIABLE}]; look at the key in {VARIABLE}");
        assert!(said.ends_with(&expected), "{said}");
        assert!(!events.iter().any(|event| matches!(event, TurnEvent::Retrying { .. })));
        assert_eq!(server.requests().len(), 1);
        assert_eq!(server.requests()[0].key(), Some(wrong));
    }
}

pub(crate) async fn a_redirect_is_not_followed(format: Format) {
    let other = ModelServer::start(Script::of([Rule::text("give me your key")])).unwrap();
    let mut rule = Rule::fail(307, "moved", "elsewhere");
    let path = if format == Format::Anthropic { "messages" } else { "chat/completions" };
    rule.fail.as_mut().unwrap().location = Some(format!("{}/{path}", other.url()));
    let mut peer = peer(format, [rule]);
    peer.agent = peer.agent.retry(Retry::never());
    let (turn, _) = peer.ask("hello").await;
    assert_eq!(end(&turn.end)["error"]["kind"], "not_found");
    assert_eq!(other.requests(), []);
}

pub(crate) fn a_key_comes_from_its_variable_and_is_hidden() {
    // Variables that cargo sets for every test.
    assert_eq!(format!("{:?}", Key::from_env("CARGO_PKG_NAME").unwrap()), "Key(CARGO_PKG_NAME)");
    let missing = Key::from_env("NO_SUCH_VARIABLE_OF_A_KEY").unwrap_err();
    assert_eq!(missing.kind, ModelErrorKind::Authentication);
    assert_eq!(
        missing.to_string(),
        "the variable NO_SUCH_VARIABLE_OF_A_KEY holds no key; set it and begin again"
    );
    let odd = Key::new("ODD", "two words").unwrap_err();
    assert_eq!(odd.to_string(), "what ODD holds is not a key: it has spaces or odd letters");
}

//! What the server does where no rule says otherwise.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{
    Disk, END_OF_INPUT, Encoding, Others, Repeats, START, Script, Step, Toy, path_of,
    server::{Message, Server, UNCLEAN},
    state::State,
    toy::{self, World},
};

/// `MethodNotFound`.
const METHOD_NOT_FOUND: i64 = -32601;

/// Takes in what the client says of itself.
pub(crate) fn initialize(state: &mut State, script: &Script, params: &Value) {
    state.client = params["capabilities"].clone();
    state.set_roots(params);
    state.encoding = agreed(script, &state.client).unwrap_or_default();
    if let Some(toy) = script.toy.as_ref().filter(|toy| toy.disk == Disk::Watched) {
        let roots = state.roots.clone();
        state.documents.stop_looking(&roots, &toy.extensions);
    }
}

/// Begins to read the project, if that takes time.
pub(crate) fn initialized(state: &mut State, script: &Script) {
    let indexing = script.toy.as_ref().and_then(|toy| toy.indexing.as_ref());
    state.ready_at = indexing.map(|indexing| Instant::now() + Duration::from_millis(indexing.ms));
}

/// The steps for a message that no rule takes.
pub(crate) fn steps(server: &Server, message: &Message) -> Vec<Step> {
    match message.method.as_str() {
        START | END_OF_INPUT => Vec::new(),
        "initialize" => vec![Step::Reply(greeting(server))],
        "shutdown" => {
            server.state().shut_down = true;
            vec![Step::Reply(Value::Null)]
        }
        "exit" => vec![Step::Exit(if server.state().shut_down { 0 } else { UNCLEAN })],
        "$/cancelRequest" => {
            server.cancel(&message.params["id"]);
            Vec::new()
        }
        method => {
            let toy = server.script.toy.as_ref();
            let steps = toy.and_then(|toy| toy::respond::steps(toy, &server.state(), message));
            steps.unwrap_or_else(|| {
                let refusal = format!("no method {method}");
                vec![Step::fail(METHOD_NOT_FOUND, &refusal)]
            })
        }
    }
}

/// The files to look at after a message about `own`, the message's own first.
pub(crate) fn to_check(
    state: &State,
    toy: &Toy,
    world: &World,
    own: Option<&str>,
) -> Vec<(String, Repeats)> {
    let mine = own.map(|uri| (uri.to_owned(), toy.repeats));
    let others = match toy.others {
        Others::Nothing if own.is_some() => Vec::new(),
        Others::Nothing | Others::Open => {
            state.documents.open().values().map(|open| open.uri.clone()).collect()
        }
        Others::All => world.uris(),
    };
    let path = own.map(path_of);
    let others = others.into_iter().filter(|uri| Some(path_of(uri)) != path);
    mine.into_iter().chain(others.map(|uri| (uri, Repeats::Never))).collect()
}

/// What the toy finds in a file; `None` where there is nothing to tell.
pub(crate) fn to_publish(
    state: &mut State,
    world: &World,
    uri: &str,
    first: Option<usize>,
    repeats: Repeats,
) -> Option<Vec<Value>> {
    let mut diagnostics = world.diagnostics(uri);
    diagnostics.truncate(first.unwrap_or(usize::MAX));
    let path = path_of(uri);
    let last = state.published.get(&path);
    let unchanged = last == Some(&diagnostics) && repeats == Repeats::Never;
    let nothing_to_say = last.is_none() && diagnostics.is_empty();
    if unchanged || (nothing_to_say && state.documents.get(uri).is_none()) {
        return None;
    }
    state.published.insert(path, diagnostics.clone());
    Some(diagnostics)
}

fn greeting(server: &Server) -> Value {
    let script = &server.script;
    let state = server.state();
    let mut capabilities = match &script.toy {
        Some(toy) => toy::capabilities(toy, &state.client),
        None => json!({"textDocumentSync": 1}),
    };
    if let Some(encoding) = agreed(script, &state.client) {
        capabilities["positionEncoding"] = encoding.name().into();
    }
    patch(&mut capabilities, &script.capabilities);
    json!({
        "capabilities": capabilities,
        "serverInfo": {"name": script.name, "version": script.version},
    })
}

/// The script's encoding, if the client offers it.
fn agreed(script: &Script, client: &Value) -> Option<Encoding> {
    let offered = client.pointer("/general/positionEncodings").and_then(Value::as_array);
    let offers = |encoding: &Encoding| {
        offered.is_some_and(|offered| offered.iter().any(|name| name == encoding.name()))
    };
    script.encoding.filter(offers)
}

/// Merges as RFC 7396 says.
fn patch(target: &mut Value, with: &Value) {
    let Value::Object(changes) = with else { return };
    for (name, change) in changes {
        match change {
            Value::Null => {
                target.as_object_mut().map(|fields| fields.remove(name));
            }
            Value::Object(_) if target[name].is_object() => patch(&mut target[name], change),
            other => target[name] = other.clone(),
        }
    }
}

//! What asks by default, as data.

use agent_tiers::{Policy, Rule, Rules};

/// Operations of `debug` that run code of the debuggee's or of the model's; the others look.
const DEBUG_ASKS: [&str; 3] = ["launch", "attach", "evaluate"];

/// Arguments of its breakpoints whose expressions the debuggee runs each time it comes by.
const DEBUG_RUNS: [&str; 2] = ["condition", "log_message"];

/// The rules of a run whose host has none of its own: `ast_edit` goes on without asking, since it
/// only stages, and so does `resolve` with `discard`; `debug` asks for what runs code and not for each look; every other call of tier
/// `write` or `exec` asks.
#[must_use]
pub fn default_rules() -> Rules {
    let runs = DEBUG_RUNS.map(|argument| Rule::new("debug", Policy::Ask).when_given(argument));
    let mut rules = Rules::default()
        .with(Rule::new("ast_edit", Policy::Allow))
        .with(Rule::new("resolve", Policy::Allow).when("action", ["discard"]))
        .with(Rule::new("debug", Policy::Ask).when("op", DEBUG_ASKS))
        .with(Rule::new("debug", Policy::Allow));
    rules.extend(runs);
    rules
}

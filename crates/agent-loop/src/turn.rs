//! The loop: ask, call, tell, until the model is done.

use agent_tool_core::ToolSpec;
use futures::StreamExt;

use crate::{
    Agent, Answer, Delta, End, ModelError, ModelErrorKind, REPEATS_ENDED, REPEATS_TOLD, RawCall,
    Request, StopReason, TurnEvent, Usage,
    calls::{self, Checked},
    ids::Ids,
    images,
    live::Live,
    marks,
    repeats::Repeats,
    tokens,
    window::{Fitted, TooLong},
};

/// The share of the context that is left to the answer where the model states no bound on it: one in
/// so many parts.
const ANSWER_SHARE: usize = 8;

/// How often the conversation is shortened further since the provider counts more than was estimated.
const SHRINKS: u32 = 3;

/// What each such time leaves of the tokens that were sent, in percent.
const SHRINK_PERCENT: usize = 75;

/// An answer before its calls were read.
#[derive(Default)]
struct Heard {
    calls: Vec<RawCall>,
    opaque: Vec<serde_json::Value>,
    usage: Usage,
    stop: Option<StopReason>,
}

/// How a call that repeats itself is answered.
enum Verdict {
    GoOn,
    End { tool: String, times: u32 },
}

pub(crate) async fn drive(agent: &Agent, live: &mut Live<'_>) -> End {
    live.conversation.repair();
    let mut ids = Ids::new(&agent.parent, live.conversation.call_ids());
    let mut repeats = Repeats::default();
    let mut budget = budget(agent);
    for step in 1..=agent.steps {
        if live.stop.is_set() {
            return End::Cancelled;
        }
        // The surface may have changed since the last step.
        let tools = agent.dispatch.specs();
        let heard = match ask(agent, live, &tools, step, &mut budget).await {
            Ok(heard) => heard,
            Err(error) => return End::Failed { error },
        };
        let stop = heard.stop.clone().unwrap_or(StopReason::End);
        let usage = heard.usage;
        live.steps = step;
        let checked = take(agent, live, heard, &tools, &mut ids);
        let made = !checked.is_empty();
        let mut verdict = Verdict::GoOn;
        if made {
            let calls: Vec<_> = checked.iter().map(|checked| checked.call.clone()).collect();
            calls::run(agent, live, checked, &tools).await;
            let times = repeats.take(&calls, &live.results());
            verdict = judge(live, &calls, &times);
            live.close();
        }
        live.watch.event(TurnEvent::StepEnded { step, usage, stop: stop.clone() });
        match (stop, verdict) {
            (_, Verdict::End { tool, times }) => return End::Repeating { tool, times },
            (StopReason::Refused, _) => return End::Refused,
            (StopReason::OutputLimit, _) if !made => return End::OutputLimit,
            _ if !made => return End::Done,
            _ => {}
        }
    }
    End::StepLimit { steps: agent.steps }
}

/// Keeps an answer and reads its calls. A refused answer makes none.
fn take(
    agent: &Agent,
    live: &mut Live<'_>,
    heard: Heard,
    tools: &[ToolSpec],
    ids: &mut Ids,
) -> Vec<Checked> {
    let stop = heard.stop.unwrap_or(StopReason::End);
    let raw = if stop == StopReason::Refused { Vec::new() } else { heard.calls };
    let checked = calls::check(raw, &stop, tools, ids);
    let answer = Answer {
        text: std::mem::take(&mut live.text),
        calls: checked.iter().map(|checked| checked.call.clone()).collect(),
        opaque: heard.opaque,
        model: agent.model.name().to_owned(),
        stop: Some(stop),
        usage: heard.usage,
    };
    live.tally.add(&heard.usage);
    live.answered(answer);
    checked
}

/// Tells the model that it repeats itself, and says when that is enough.
fn judge(live: &mut Live<'_>, calls: &[crate::Call], times: &[u32]) -> Verdict {
    let mut verdict = Verdict::GoOn;
    for (index, (call, times)) in calls.iter().zip(times.iter().copied()).enumerate() {
        if times < REPEATS_TOLD {
            continue;
        }
        live.remark(
            index,
            format!(
                "(time {times} that {} was called with these arguments and gave this very result, with nothing new in \
                 between; at {REPEATS_ENDED} the turn is ended; do something else, or say what you know and stop)",
                call.name
            ),
        );
        live.watch.event(TurnEvent::Repeating { tool: call.name.clone(), times });
        if times >= REPEATS_ENDED {
            verdict = Verdict::End { tool: call.name.clone(), times };
        }
    }
    verdict
}

/// Asks the model until it answers, within the bounds of the retries.
async fn ask(
    agent: &Agent,
    live: &mut Live<'_>,
    tools: &[ToolSpec],
    step: u32,
    budget: &mut usize,
) -> Result<Heard, ModelError> {
    let fixed = tokens::of_text(&agent.system) + tokens::of_specs(tools);
    let mut failures = 0;
    let mut shrinks = 0;
    let mut refused: Option<ModelError> = None;
    loop {
        let fitted = match live.conversation.fit(fixed, *budget) {
            Ok(fitted) => fitted,
            // The provider knows better than an estimate what is too long.
            Err(error) => return Err(refused.map_or_else(|| too_long(error), nothing_left_out)),
        };
        let sent = fitted.tokens;
        tell_of(live, &fitted, step);
        let error = match attempt(agent, live, tools, fitted).await {
            Ok(heard) => return Ok(heard),
            Err(error) => error,
        };
        if error.kind == ModelErrorKind::ContextTooLong && shrinks < SHRINKS {
            shrinks += 1;
            *budget = sent * SHRINK_PERCENT / 100;
            live.text.clear();
            refused = Some(error);
            continue;
        }
        failures += 1;
        let wait = agent.retry.after(error.clone(), failures)?;
        let (void, most) = (std::mem::take(&mut live.text).len(), agent.retry.times);
        live.watch.event(TurnEvent::Retrying { error, wait, time: failures, most, void });
        tokio::time::sleep(wait).await;
    }
}

fn tell_of(live: &Live<'_>, fitted: &Fitted, step: u32) {
    if let Some(shortened) = fitted.shortened {
        live.watch.event(TurnEvent::Shortened {
            before: shortened.before,
            after: fitted.tokens,
            messages: shortened.messages,
        });
    }
    live.watch.event(TurnEvent::StepStarted { step, tokens: fitted.tokens });
}

/// One request. What came of a text before an error is in `live`.
async fn attempt(
    agent: &Agent,
    live: &mut Live<'_>,
    tools: &[ToolSpec],
    fitted: Fitted,
) -> Result<Heard, ModelError> {
    let limits = agent.model.limits();
    let messages = marks::marked(fitted.messages);
    let messages = if limits.images { messages } else { images::left_out(messages) };
    let request =
        Request { system: &agent.system, messages: &messages, tools, output: limits.output };
    let mut stream = agent.model.stream(request);
    let mut heard = Heard::default();
    let mut begun = false;
    live.asked = Some(Usage::default());
    let error = loop {
        match tokio::time::timeout(agent.silence, stream.next()).await {
            Err(_) => break ModelError::silent(agent.silence),
            Ok(None) => break ModelError::cut(),
            Ok(Some(Err(error))) => break error,
            Ok(Some(Ok(delta))) => {
                begun = true;
                hear(live, &mut heard, delta);
            }
        }
        live.asked = Some(heard.usage);
        if heard.stop.is_some() {
            live.asked = None;
            return Ok(heard);
        }
    };
    live.asked = None;
    if begun {
        // The provider counts what it wrote before it broke off, and says it as far as it says it.
        live.tally.add(&heard.usage);
    }
    Err(error)
}

fn hear(live: &mut Live<'_>, heard: &mut Heard, delta: Delta) {
    match delta {
        Delta::Text(text) => {
            live.text.push_str(&text);
            live.watch.event(TurnEvent::Text(text));
        }
        Delta::Reasoning(text) => live.watch.event(TurnEvent::Reasoning(text)),
        Delta::Writing { tool, bytes } => live.watch.event(TurnEvent::Writing { tool, bytes }),
        Delta::Call(call) => heard.calls.push(call),
        Delta::Opaque(value) => heard.opaque.push(value),
        Delta::Usage(usage) => heard.usage = usage,
        Delta::Alive => {}
        Delta::Stop(reason) => heard.stop = Some(reason),
    }
}

fn budget(agent: &Agent) -> usize {
    let limits = agent.model.limits();
    let context = agent.context.unwrap_or(usize::MAX).min(limits.context);
    let output = limits.output.and_then(|output| usize::try_from(output).ok());
    let answer = output.unwrap_or(context / ANSWER_SHARE).min(context / 2);
    context - answer
}

fn nothing_left_out(mut error: ModelError) -> ModelError {
    error.message.push_str("; all that may be left out was left out");
    error
}

fn too_long(error: TooLong) -> ModelError {
    let TooLong { tokens, budget } = error;
    ModelError::new(
        ModelErrorKind::ContextTooLong,
        format!(
            "the conversation needs about {tokens} tokens and there is room for {budget}, though all that may \
             be left out was left out; begin a new conversation, or ask for less at once"
        ),
    )
}

//! The last gate: a person's permission.

use std::{
    fmt,
    future::{Future, poll_fn},
    pin::pin,
    sync::Arc,
    task::Poll,
};

use agent_tool_core::{
    BoxFuture, Card, CardError, CardKind, CardOption, CardPort, CardQueue, Context, Decision,
    Effect, ErrorKind, Gate, Preview, Reply, Tier, Tool, ToolCall, ToolError, ToolSpec, clip,
};
use serde::{Deserialize, Serialize};

use crate::{
    Decider, Policy, Rules,
    memory::{Key, Memory, Standing, key},
};

/// Who approves the calls that ask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ApproveMode {
    /// Every call is approved, save those that a rule always asks about. Guardrails, ceilings and
    /// rules that refuse still hold.
    All,
    /// A person is asked.
    Ask,
    /// Nobody is there: what would ask is refused.
    #[default]
    Nobody,
}

/// The approval of one run: asks a person before a call that changes something, with the tool's
/// own preview on the card. The default asks nobody and so lets nothing through that would ask.
///
/// What is not plainly allowed is refused: a skip, a withdrawn card, an answer that does not fit.
/// It is neither cloned nor shared: what a person said for the rest of the run ends with it.
#[derive(Default)]
pub struct Approval {
    mode: ApproveMode,
    rules: Rules,
    cards: Option<CardQueue>,
    memory: Memory,
}

/// A decision and whose it is. A read call that no rule mentions is nobody's to decide.
pub(crate) struct Ruling {
    pub(crate) decision: Decision,
    pub(crate) by: Option<Decider>,
    pub(crate) effect: Option<Effect>,
}

impl Approval {
    /// An approval of this mode, by these rules, with cards shown through this port.
    #[must_use]
    pub fn new(mode: ApproveMode, rules: Rules, port: Arc<dyn CardPort>) -> Self {
        Self::with_queue(mode, rules, CardQueue::new(port))
    }

    /// The same with a queue that other askers use too, so that one card is up at a time.
    #[must_use]
    pub fn with_queue(mode: ApproveMode, rules: Rules, cards: CardQueue) -> Self {
        Self { mode, rules, cards: Some(cards), memory: Memory::default() }
    }

    pub(crate) async fn rule(&self, tool: &dyn Tool, call: &ToolCall, cx: &Context) -> Ruling {
        let spec = tool.spec();
        let policy = self.rules.policy(spec, &call.args);
        if policy == Policy::Refuse {
            return Ruling::refused(Decider::Rule, refused_by_rule(spec));
        }
        let key = key(spec, cx);
        let standing = self.memory.get(&key, spec.tier, policy);
        if standing == Some(Standing::Refused) {
            return Ruling::refused(Decider::Earlier, refused_for_the_run(spec));
        }
        match policy {
            Policy::Allow if spec.tier == Tier::Read => {
                Ruling { decision: Decision::Pass, by: None, effect: None }
            }
            Policy::Allow => Ruling::passed(Decider::Rule),
            // A read call shows no card, so a rule that wants one cannot be heeded but by refusing.
            _ if spec.tier == Tier::Read => Ruling::refused(Decider::Rule, refused_by_rule(spec)),
            Policy::Ask if self.mode == ApproveMode::All => Ruling::passed(Decider::Mode),
            Policy::Ask if self.mode == ApproveMode::Ask && standing.is_some() => {
                Ruling::passed(Decider::Earlier)
            }
            _ => match &self.cards {
                Some(cards) if self.mode != ApproveMode::Nobody && cards.connected() => {
                    self.ask(cards, tool, call, cx, key, policy).await
                }
                // A call that would fail anyway says what is wrong with it.
                _ => match tool.preview(&call.args, cx).await {
                    Err(error) => Ruling::refused(Decider::Preview, error),
                    Ok(preview) if is_idle(spec, policy, &preview) => Ruling::idle(preview),
                    Ok(_) => Ruling::refused(Decider::Nobody, no_approver(spec)),
                },
            },
        }
    }

    async fn ask(
        &self,
        cards: &CardQueue,
        tool: &dyn Tool,
        call: &ToolCall,
        cx: &Context,
        key: Key,
        policy: Policy,
    ) -> Ruling {
        let spec = tool.spec();
        let preview = match tool.preview(&call.args, cx).await {
            Ok(preview) => preview,
            Err(error) => return Ruling::refused(Decider::Preview, error),
        };
        if is_idle(spec, policy, &preview) {
            return Ruling::idle(preview);
        }
        let fingerprint = preview.fingerprint.clone();
        // While the card waits, an answer to another card of the same caller and tool may settle
        // it; the card then goes away unanswered.
        let answer = self.memory.answer(&key, spec.tier, policy);
        let card = cards.present(card(spec, cx, preview, policy));
        let reply = match first(answer, card).await {
            First::Other(Standing::Allowed(_)) => return Ruling::passed(Decider::Earlier),
            First::Other(Standing::Refused) => {
                return Ruling::refused(Decider::Earlier, refused_for_the_run(spec));
            }
            First::Own(reply) => reply,
        };
        if matches!(reply, Ok(Reply::Skipped)) {
            return Ruling::refused(Decider::Person, skipped(spec));
        }
        let (effect, reason) = match reply.and_then(chosen) {
            Ok(chosen) => chosen,
            Err(why) => return Ruling::refused(Decider::Nobody, no_answer(spec, &why)),
        };
        match effect {
            Effect::AllowRun => self.memory.set(key, Standing::Allowed(spec.tier)),
            Effect::RejectRun => self.memory.set(key, Standing::Refused),
            Effect::AllowOnce | Effect::RejectOnce => {}
        }
        let decision = match effect {
            Effect::AllowOnce | Effect::AllowRun => Decision::Approved { fingerprint },
            Effect::RejectOnce => Decision::Refused(refused_by_person(spec, reason.as_deref())),
            Effect::RejectRun => Decision::Refused(refused_for_the_run(spec)),
        };
        Ruling { decision, by: Some(Decider::Person), effect: Some(effect) }
    }
}

impl Gate for Approval {
    fn check<'a>(
        &'a self,
        tool: &'a dyn Tool,
        call: &'a ToolCall,
        cx: &'a Context,
    ) -> BoxFuture<'a, Decision> {
        Box::pin(async move { self.rule(tool, call, cx).await.decision })
    }
}

impl fmt::Debug for Approval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Approval")
            .field("mode", &self.mode)
            .field("rules", &self.rules)
            .finish_non_exhaustive()
    }
}

impl Ruling {
    fn passed(by: Decider) -> Self {
        Self { decision: Decision::Pass, by: Some(by), effect: None }
    }

    /// Nothing would change, so nobody is asked. Should the plan be another one by then, the call is a conflict.
    fn idle(preview: Preview) -> Self {
        let decision = Decision::Approved { fingerprint: preview.fingerprint };
        Self { decision, by: Some(Decider::Preview), effect: None }
    }

    fn refused(by: Decider, error: ToolError) -> Self {
        Self { decision: Decision::Refused(error), by: Some(by), effect: None }
    }
}

/// Whether a call of a tool that only changes files would change none.
fn is_idle(spec: &ToolSpec, policy: Policy, preview: &Preview) -> bool {
    preview.changes_nothing && spec.tier == Tier::Write && policy == Policy::Ask
}

/// So many characters the model is told of a person's reason.
const REASON_CHARS: usize = 2_000;

/// What a permission card offers.
const OPTIONS: [(&str, &str, Effect); 4] = [
    ("allow_once", "allow once", Effect::AllowOnce),
    ("allow_run", "allow for this run", Effect::AllowRun),
    ("reject_once", "reject", Effect::RejectOnce),
    ("reject_run", "reject for this run", Effect::RejectRun),
];

/// A card is named after its call, which has no other: unique in the run without a counter.
fn card(spec: &ToolSpec, cx: &Context, preview: Preview, policy: Policy) -> Card {
    let id = format!("permission_{}", cx.call_id());
    let named = format!("{}: ", spec.name);
    let title = match preview.title.starts_with(&named) {
        true => preview.title.clone(),
        false => named + &preview.title,
    };
    let mut card = Card::new(CardKind::Permission, id, cx.call_id().clone(), title);
    card.asked_by = cx.callers().to_vec();
    card.body = match (&preview.reason, spec.tier) {
        (Some(reason), _) => reason.clone(),
        (None, Tier::Read) => format!("{} has no side effects", spec.name),
        (None, Tier::Write) => format!("{} changes files", spec.name),
        (None, Tier::Exec) => format!("{} starts or drives a process", spec.name),
    };
    card.preview = Some(preview);
    let offered = OPTIONS
        .into_iter()
        .filter(|(.., effect)| policy == Policy::Ask || *effect != Effect::AllowRun);
    let name = &spec.name;
    let options = offered.map(|(id, label, effect)| {
        let option = CardOption::new(id, label).with_effect(effect);
        match effect {
            Effect::AllowRun => {
                option.with_description(format!("every later call of {name} by who asks here"))
            }
            Effect::RejectRun => {
                option.with_description(format!("no later call of {name} by who asks here"))
            }
            Effect::AllowOnce | Effect::RejectOnce => option,
        }
    });
    card.options = options.collect();
    card
}

/// What was chosen, where the reply is one plain choice.
fn chosen(reply: Reply) -> Result<(Effect, Option<String>), CardError> {
    let Reply::Chosen { options, text } = reply else {
        return Err(CardError::new("the card was closed without an answer"));
    };
    let chosen = match options.as_slice() {
        [chosen] => OPTIONS.into_iter().find(|(id, ..)| id == chosen),
        _ => None,
    };
    match (chosen.map(|(.., effect)| effect), text) {
        (Some(Effect::RejectOnce), reason) => Ok((Effect::RejectOnce, reason)),
        (Some(effect), None) => Ok((effect, None)),
        (Some(_), Some(_)) => Err(CardError::new("only a refusal takes a text")),
        (None, _) => Err(CardError::new("no single option was chosen")),
    }
}

pub(crate) enum First<A, B> {
    Other(A),
    Own(B),
}

/// The first of two to be ready. The other is dropped, which withdraws a card. The remembered
/// answer is looked at first, so that a card that needs no asking is never shown.
pub(crate) async fn first<A, B>(
    other: impl Future<Output = A>,
    own: impl Future<Output = B>,
) -> First<A, B> {
    let mut other = pin!(other);
    let mut own = pin!(own);
    poll_fn(|cx| {
        if let Poll::Ready(answer) = other.as_mut().poll(cx) {
            return Poll::Ready(First::Other(answer));
        }
        own.as_mut().poll(cx).map(First::Own)
    })
    .await
}

fn refused_by_rule(spec: &ToolSpec) -> ToolError {
    let name = &spec.name;
    let message = format!(
        "a rule of this run refuses this call of {name}; nothing was done; find another way"
    );
    ToolError::new(ErrorKind::Denied, "refused_by_rule", message)
}

fn refused_by_person(spec: &ToolSpec, reason: Option<&str>) -> ToolError {
    let name = &spec.name;
    let wrote = reason.map(str::trim).filter(|reason| !reason.is_empty());
    let wrote = wrote.map(|reason| format!(" and wrote {:?}", clip(reason, REASON_CHARS).text));
    let wrote = wrote.unwrap_or_default();
    let message = format!(
        "the person refused this call of {name}{wrote}; nothing was done; do not repeat it, find \
         another way or say what stands in the way"
    );
    ToolError::new(ErrorKind::Denied, "refused_by_person", message)
}

fn refused_for_the_run(spec: &ToolSpec) -> ToolError {
    let name = &spec.name;
    let message = format!(
        "the person refused {name} for the rest of this run; nothing was done; do not call it \
         again, find another way or say what stands in the way"
    );
    ToolError::new(ErrorKind::Denied, "refused_by_person", message)
}

fn no_approver(spec: &ToolSpec) -> ToolError {
    let name = &spec.name;
    let message = format!(
        "{name} needs approval and no approver is connected to this run, so it was not called; \
         nobody was asked; go on without it, or say in your answer that it needs approval"
    );
    ToolError::new(ErrorKind::Denied, "no_approver", message)
}

fn skipped(spec: &ToolSpec) -> ToolError {
    let name = &spec.name;
    let message = format!(
        "{name} needs approval and the person skipped the card, which lets nothing through; nothing was \
         done; do not repeat it, go on without it, or say in your answer that it needs approval"
    );
    ToolError::new(ErrorKind::Denied, "no_answer", message)
}

fn no_answer(spec: &ToolSpec, why: &CardError) -> ToolError {
    let name = &spec.name;
    let message = format!(
        "{name} needs approval and no usable answer came back ({why}), so nothing was done; go on \
         without it, or say in your answer that it needs approval"
    );
    ToolError::new(ErrorKind::Denied, "no_answer", message)
}

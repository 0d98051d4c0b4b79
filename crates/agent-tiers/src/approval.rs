//! The gate that asks a person.

use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

use agent_tool_core::{
    BoxFuture, Card, CardError, CardKind, CardOption, CardPort, CardQueue, Context, Decision,
    Effect, ErrorKind, Gate, Preview, Reply, Tool, ToolCall, ToolError,
};

use crate::{Decider, Outcome, Policy, Rules, What, lock, log::Log};

/// Who approves the calls that ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ApproveMode {
    /// Every call is approved. Guardrails, ceilings and rules that refuse still hold.
    All,
    /// A person is asked.
    Ask,
    /// Nobody is there.
    Nobody,
}

/// Asks a person before a call that changes something, with the tool's own preview on the card.
///
/// What is not plainly allowed is refused: a skip, a withdrawn card, an answer that does not fit.
/// "For the rest of the run" holds for one caller and one tool, and never beats a refusal.
pub struct Approval {
    mode: ApproveMode,
    rules: Rules,
    cards: CardQueue,
    next_card: AtomicU64,
    remembered: Mutex<HashMap<(String, String), Effect>>,
    log: OnceLock<Arc<Log>>,
}

/// The options of every permission, with what the person reads.
const OPTIONS: [(&str, &str, Effect); 4] = [
    ("allow_once", "allow once", Effect::AllowOnce),
    ("allow_run", "allow for this run", Effect::AllowRun),
    ("reject_once", "reject", Effect::RejectOnce),
    ("reject_run", "reject for this run", Effect::RejectRun),
];

impl Approval {
    /// An approval of this mode, by these rules, with cards shown through this port.
    #[must_use]
    pub fn new(mode: ApproveMode, rules: Rules, port: Arc<dyn CardPort>) -> Self {
        Self::with_queue(mode, rules, CardQueue::new(port))
    }

    /// The same with a queue that other askers use too, so that one card is up at a time.
    #[must_use]
    pub fn with_queue(mode: ApproveMode, rules: Rules, cards: CardQueue) -> Self {
        Self {
            mode,
            rules,
            cards,
            next_card: AtomicU64::new(1),
            remembered: Mutex::default(),
            log: OnceLock::new(),
        }
    }

    /// Gives the run's log to write decisions into.
    pub(crate) fn attach(&self, log: &Arc<Log>) {
        let _ = self.log.set(Arc::clone(log));
    }

    async fn decide(&self, tool: &dyn Tool, call: &ToolCall, cx: &Context) -> Decision {
        let spec = tool.spec();
        let note = Note { approval: self, cx };
        match self.rules.policy(spec, &call.args) {
            Policy::Allow => {
                if spec.tier > agent_tool_core::Tier::Read {
                    note.write(Outcome::Allowed, Decider::Rule, None, None);
                }
                return Decision::Pass;
            }
            Policy::Refuse => {
                return note.refuse(Decider::Rule, None, refused_by_rule(&spec.name));
            }
            Policy::Ask => {}
        }
        let caller = (caller_of(cx), spec.name.clone());
        let earlier = lock(&self.remembered).get(&caller).copied();
        if earlier == Some(Effect::RejectRun) {
            return note.refuse(Decider::Earlier, earlier, refused_by_person(&spec.name));
        }
        if self.mode == ApproveMode::All {
            note.write(Outcome::Allowed, Decider::Mode, None, None);
            return Decision::Pass;
        }
        if earlier == Some(Effect::AllowRun) {
            note.write(Outcome::Allowed, Decider::Earlier, None, earlier);
            return Decision::Pass;
        }
        if self.mode == ApproveMode::Nobody || !self.cards.connected() {
            return note.refuse(Decider::Nobody, None, no_approver(&spec.name));
        }
        let preview = match tool.preview(&call.args, cx).await {
            Ok(preview) => preview,
            Err(error) => return note.refuse(Decider::Preview, None, error),
        };
        let fingerprint = preview.fingerprint.clone();
        match self.ask(tool, preview, cx).await {
            Ok(effect) => {
                if matches!(effect, Effect::AllowRun | Effect::RejectRun) {
                    lock(&self.remembered).insert(caller, effect);
                }
                if matches!(effect, Effect::RejectOnce | Effect::RejectRun) {
                    let error = refused_by_person(&spec.name);
                    return note.refuse(Decider::Person, Some(effect), error);
                }
                note.write(Outcome::Allowed, Decider::Person, fingerprint.clone(), Some(effect));
                Decision::Approved { fingerprint }
            }
            Err(why) => note.refuse(Decider::Nobody, None, no_answer(&spec.name, &why)),
        }
    }

    /// Shows the card and reads what was chosen, plainly or not at all.
    async fn ask(
        &self,
        tool: &dyn Tool,
        preview: Preview,
        cx: &Context,
    ) -> Result<Effect, CardError> {
        let spec = tool.spec();
        let number = self.next_card.fetch_add(1, Ordering::Relaxed);
        let id = format!("permission_{number}");
        let title = format!("{}: {}", spec.name, preview.title);
        let mut card = Card::new(CardKind::Permission, id, cx.call_id().clone(), title);
        card.asked_by = cx.callers().to_vec();
        card.body = format!("`{}` is a tool of tier {}.", spec.name, spec.tier);
        card.options = OPTIONS
            .iter()
            .map(|(id, label, effect)| CardOption::new(*id, *label).with_effect(*effect))
            .collect();
        card.preview = Some(preview);
        let reply = self.cards.present(card).await?;
        let Reply::Chosen { options, .. } = reply else {
            return Err(CardError::new("the card was closed without an answer"));
        };
        let chosen = options.first().and_then(|chosen| {
            OPTIONS.iter().find(|(id, ..)| id == chosen).map(|(.., effect)| *effect)
        });
        chosen.ok_or_else(|| CardError::new("no option was chosen"))
    }
}

impl Gate for Approval {
    fn check<'a>(
        &'a self,
        tool: &'a dyn Tool,
        call: &'a ToolCall,
        cx: &'a Context,
    ) -> BoxFuture<'a, Decision> {
        Box::pin(self.decide(tool, call, cx))
    }
}

impl fmt::Debug for Approval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Approval").field("mode", &self.mode).finish_non_exhaustive()
    }
}

/// Writes what was decided into the transcript.
struct Note<'a> {
    approval: &'a Approval,
    cx: &'a Context,
}

impl Note<'_> {
    fn write(
        &self,
        outcome: Outcome,
        by: Decider,
        fingerprint: Option<String>,
        effect: Option<Effect>,
    ) {
        if let Some(log) = self.approval.log.get() {
            let call_id = self.cx.call_id().clone();
            log.push(|| What::Approval { call_id, outcome, by, fingerprint, effect });
        }
    }

    fn refuse(&self, by: Decider, effect: Option<Effect>, error: ToolError) -> Decision {
        self.write(Outcome::Refused, by, None, effect);
        Decision::Refused(error)
    }
}

/// The chain of names that leads to a call: what "this caller" means in a remembered answer.
fn caller_of(cx: &Context) -> String {
    let names: Vec<&str> = cx.callers().iter().map(|caller| caller.name.as_str()).collect();
    names.join("/")
}

fn refused_by_rule(tool: &str) -> ToolError {
    ToolError::new(
        ErrorKind::Denied,
        "refused_by_rule",
        format!(
            "a rule of this run refuses this call of {tool}; nothing was done; find another way"
        ),
    )
}

fn refused_by_person(tool: &str) -> ToolError {
    ToolError::new(
        ErrorKind::Denied,
        "refused_by_person",
        format!(
            "the person refused this call of {tool}; nothing was done; do not repeat it, find another \
             way or say what stands in the way"
        ),
    )
}

fn no_approver(tool: &str) -> ToolError {
    ToolError::new(
        ErrorKind::Denied,
        "no_approver",
        format!(
            "{tool} needs approval and no approver is connected to this run, so it was not called; \
             nobody was asked; go on without it, or say in your answer that it needs approval"
        ),
    )
}

fn no_answer(tool: &str, why: &CardError) -> ToolError {
    ToolError::new(
        ErrorKind::Denied,
        "no_answer",
        format!(
            "{tool} needs approval and got no answer ({why}), so it was not called; go on without it, \
             or say in your answer that it needs approval"
        ),
    )
}

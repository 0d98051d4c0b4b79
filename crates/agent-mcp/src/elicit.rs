//! A question of a server to the person, on the run's cards.
//!
//! Both revisions ask with the same form. (Specification of 2026-07-28, "Elicitation", form mode.)

mod field;
mod form;
mod questions;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use agent_tool_core::{
    Caller, Card, CardKind, CardOption, CardPort as _, CardQueue, Context, Reply, clip, with_traces,
};
use rmcp::model::{ClientCapabilities, ElicitationCapability, FormElicitationCapability};
use serde_json::{Map, Value, json};
use tokio::{sync::Notify, time::timeout};

pub(crate) use self::questions::Questions;
use self::{
    field::{Answered, Field},
    form::Form,
};
use crate::{
    handler::ForCall,
    text::{behind_margin, clean_line},
};

/// How long a person has for one card of a form, from when it goes up: as long as for `ask_user`.
pub(crate) const ANSWER_WITHIN: Duration = Duration::from_secs(15 * 60);

/// So many answers to one field that do not fit end the form.
const ATTEMPTS: usize = 3;

/// So many characters of a server's message are on a card.
const MESSAGE_CHARS: usize = 4_000;

/// So many characters of a title are.
const TITLE_CHARS: usize = 120;

/// What is said where a person filled nothing in.
const LEFT_OUT: &str = "you left out all of its fields";

/// The option that ends a form, beside those of a field.
const DECLINE: &str = "decline";

const YES: &str = "yes";
const NO: &str = "no";

/// Asks the person of a run for one server. A clone means the same.
#[derive(Clone, Debug)]
pub(crate) struct Asker {
    server: Arc<str>,
    cards: CardQueue,
    within: Duration,
    asked: Arc<AtomicU64>,
}

/// How a form ended without being filled in.
enum Unfilled {
    /// The person did not want to.
    Declined,
    /// Nobody said anything.
    Unanswered,
    /// What the person said could not be taken.
    Misread,
}

impl Asker {
    pub(crate) fn new(server: &str, cards: CardQueue) -> Self {
        Self { server: server.into(), cards, within: ANSWER_WITHIN, asked: Arc::default() }
    }

    /// Whether somebody is there to answer.
    pub(crate) fn connected(&self) -> bool {
        self.cards.connected()
    }

    /// What is said of it to a server: forms, and no addresses to visit.
    pub(crate) fn capability() -> ClientCapabilities {
        let mut capabilities = ClientCapabilities::default();
        let form = ElicitationCapability::new().with_form(FormElicitationCapability::new());
        capabilities.elicitation = Some(form);
        capabilities
    }

    /// The answer that is none.
    pub(crate) fn cancelled() -> Value {
        json!({"action": "cancel"})
    }

    /// Whether these parameters are a form that can be shown.
    pub(crate) fn is_shown(params: &Value) -> bool {
        Form::read(params).is_some()
    }

    /// Shows the form of these parameters, a card for each field, and gives back the protocol's answer. Silence, a card that
    /// went away and a form that cannot be shown are `cancel`: nothing is chosen for a person. Who left one question of a call is
    /// not asked another one by it.
    pub(crate) async fn ask(&self, params: &Value, call: ForCall<'_>) -> Value {
        if !self.connected() {
            return Self::cancelled();
        }
        let Some(form) = Form::read(params) else {
            call.questions.cannot_be_shown();
            return Self::cancelled();
        };
        let _turn = call.questions.turn().await;
        if let Some(answer) = call.questions.asked_again() {
            return answer;
        }
        match self.fill(&form, call.cx).await {
            Ok(content) => json!({"action": "accept", "content": content}),
            Err(Unfilled::Declined) => call.questions.left(json!({"action": "decline"})),
            Err(Unfilled::Unanswered) => call.questions.left(Self::cancelled()),
            Err(Unfilled::Misread) => Self::cancelled(),
        }
    }

    async fn fill(&self, form: &Form, cx: &Context) -> Result<Map<String, Value>, Unfilled> {
        let mut content = Map::new();
        for (index, field) in form.fields.iter().enumerate() {
            let place = match form.fields.len() {
                1 => String::new(),
                many => format!("field {} of {many}", index + 1),
            };
            if let Some(value) = self.field(form, field, &place, cx).await? {
                content.insert(field.name.clone(), value);
            }
        }
        if content.is_empty() {
            self.consent(form, cx).await?;
        }
        Ok(content)
    }

    /// Asks for a form in which there is nothing: who left all of it out has not agreed by that.
    async fn consent(&self, form: &Form, cx: &Context) -> Result<(), Unfilled> {
        let said = if form.fields.is_empty() { "" } else { LEFT_OUT };
        let mut card = self.card(form, "asks for your consent", said, cx);
        card.options = vec![CardOption::new(YES, "agree"), CardOption::new(NO, "decline")];
        match self.present(card).await? {
            Reply::Chosen { options, .. } if options == [YES] => Ok(()),
            _ => Err(Unfilled::Declined),
        }
    }

    /// What a person gives for one field; none where it may be left out and was.
    async fn field(
        &self,
        form: &Form,
        field: &Field,
        place: &str,
        cx: &Context,
    ) -> Result<Option<Value>, Unfilled> {
        let mut wrong = String::new();
        for _ in 0..ATTEMPTS {
            let said = [place, &field.said(), &wrong];
            let said: Vec<&str> = said.into_iter().filter(|said| !said.is_empty()).collect();
            let title = format!("asks: {}", field.title());
            let mut card = self.card(form, &title, &said.join("\n"), cx);
            card.options = field.options();
            card.options.push(CardOption::new(DECLINE, "decline the whole form").aside());
            card.free_text = field.takes_text();
            card.several = field.takes_several();
            match (self.present(card).await?, field.required) {
                (Reply::Chosen { options, .. }, _) if options.iter().any(|id| id == DECLINE) => {
                    return Err(Unfilled::Declined);
                }
                (Reply::Chosen { options, text }, _) => match field.answer(&options, text) {
                    Answered::Value(value) => return Ok(Some(value)),
                    Answered::Wrong(why) => wrong = why,
                },
                (Reply::Skipped, false) => return Ok(None),
                (Reply::Skipped, true) => return Err(Unfilled::Declined),
                _ => return Err(Unfilled::Unanswered),
            }
        }
        Err(Unfilled::Misread)
    }

    fn card(&self, form: &Form, asks: &str, said: &str, cx: &Context) -> Card {
        let number = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        let server = clean_line(&self.server, TITLE_CHARS);
        let title = clip(&format!("the MCP server {server} {asks}"), TITLE_CHARS).text;
        let id = format!("mcp_{server}_{number}");
        let mut card = Card::new(CardKind::Question, id, cx.call_id().clone(), title);
        let message = clip(&form.message, MESSAGE_CHARS).text;
        card.body = format!(
            "what you answer goes to that server, an external program; it says\n{}\n{said}",
            behind_margin(&message).join("\n")
        );
        card.asked_by = cx.callers().to_vec();
        card.asked_by.push(Caller::new(cx.call_id().clone(), format!("MCP server {server}")));
        card
    }

    /// Waits for the answer; a card that nobody answers in time goes away.
    async fn present(&self, card: Card) -> Result<Reply, Unfilled> {
        let id = card.id.clone();
        let up = Notify::new();
        let reply = self.cards.present_with(card, |_| up.notify_one());
        let too_late = async {
            up.notified().await;
            while timeout(self.within, self.cards.touched(&id)).await.is_ok() {
                tokio::time::sleep(TOUCHES_APART).await;
            }
        };
        tokio::select! {
            biased;
            reply = reply => match reply {
                Ok(reply @ (Reply::Chosen { .. } | Reply::Skipped)) => Ok(reply),
                _ => Err(Unfilled::Unanswered),
            },
            () = too_late => {
                self.cards.withdrawn(&id, "nobody answered in time, so the server was told that nothing was chosen");
                Err(Unfilled::Unanswered)
            }
        }
    }
}

/// So long after a person touched a card no other touch is looked for: they come with each key.
const TOUCHES_APART: Duration = Duration::from_secs(1);

/// A text of a form as a card has it.
fn shown(text: &str, limit: usize) -> String {
    clip(&with_traces(text), limit).text
}

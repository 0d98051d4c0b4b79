//! A worker in this process: a model with a loop and a conversation of its own.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, OnceLock},
};

use agent_loop::{Agent, Conversation, Model, TurnEvent};
use agent_tool_core::{BoxFuture, Tier};
use agent_vibe::{Job, WorkError};

use super::WorkerUsage;
use crate::{lock, models::ModelConfig};

/// Workers that are loops with one model.
pub(super) struct ModelWorkers {
    config: ModelConfig,
    /// Opened with the first worker: a run that spawns none needs no key.
    model: OnceLock<Arc<dyn Model>>,
    talks: Talks,
    usage: WorkerUsage,
}

/// The conversations of workers that were not killed, by their ids.
type Talks = Arc<Mutex<HashMap<String, Arc<tokio::sync::Mutex<Talk>>>>>;

/// What one worker said and was told.
#[derive(Default)]
struct Talk {
    conversation: Conversation,
    /// How many parts of its brief it was told.
    told: usize,
}

impl ModelWorkers {
    pub(super) fn new(config: ModelConfig, usage: WorkerUsage) -> Self {
        Self { config, model: OnceLock::new(), talks: Talks::default(), usage }
    }

    /// One attempt: the worker is told what is new and goes on until it is done.
    pub(super) fn start(&self, job: Job) -> BoxFuture<'static, Result<String, WorkError>> {
        let model = match self.model() {
            Ok(model) => model,
            Err(error) => return Box::pin(async move { Err(error) }),
        };
        let (talk, usage) = (self.talk(&job), Arc::clone(&self.usage));
        Box::pin(async move {
            let mut talk = talk.lock().await;
            let Talk { conversation, told } = &mut *talk;
            for news in &job.brief()[*told..] {
                conversation.push_user(&**news);
            }
            *told = job.brief().len();
            let cx = job.context();
            let agent =
                Agent::new(model, Arc::clone(cx.dispatch()), cx.clone()).system(system(&job));
            let turn = agent.turn(conversation, &|event| watch(&job, &usage, event)).await;
            match (turn.end.is_done(), turn.text.trim().is_empty()) {
                (true, false) => Ok(turn.text),
                (true, true) => Err(WorkError::new("it ended without an answer")),
                // What it said is kept with the attempt already.
                (false, _) => Err(WorkError::new(turn.end.sentence())),
            }
        })
    }

    fn model(&self) -> Result<Arc<dyn Model>, WorkError> {
        if let Some(model) = self.model.get() {
            return Ok(Arc::clone(model));
        }
        let model = self.config.open().map_err(|error| WorkError::new(format!("{error:#}")))?;
        Ok(Arc::clone(self.model.get_or_init(|| Arc::new(model))))
    }

    /// The conversation of a worker, which is forgotten with its scope.
    fn talk(&self, job: &Job) -> Arc<tokio::sync::Mutex<Talk>> {
        let id = job.worker_id().to_owned();
        let mut talks = lock(&self.talks);
        if let Some(talk) = talks.get(&id) {
            return Arc::clone(talk);
        }
        let talk = Arc::default();
        talks.insert(id.clone(), Arc::clone(&talk));
        drop(talks);
        job.scope().keep(Forget { talks: Arc::clone(&self.talks), id });
        talk
    }
}

struct Forget {
    talks: Talks,
    id: String,
}

impl Drop for Forget {
    fn drop(&mut self) {
        lock(&self.talks).remove(&self.id);
    }
}

fn watch(job: &Job, usage: &WorkerUsage, event: TurnEvent) {
    match event {
        TurnEvent::Text(text) => job.output(&text),
        TurnEvent::Retrying { void: 1.., .. } => job.output("\n(it broke off and begins again)\n"),
        TurnEvent::TurnEnded { tally, .. } => {
            lock(usage).entry(job.worker_id().to_owned()).or_default().merge(&tally);
        }
        _ => {}
    }
}

fn system(job: &Job) -> String {
    let may = match job.authority() {
        Tier::Read => "You may look at things and change nothing.",
        Tier::Write => "You may look at things and change files; you run no programs.",
        Tier::Exec => "You may look at things, change files and run programs.",
    };
    format!(
        "You are {id}, a worker in the background, called \"{label}\". An agent gave you a brief; carry it out with your \
         tools and then stop. Nobody answers you while you work: do not ask, decide, and say in your result what you \
         assumed. Your last answer is your result, and all that the agent gets: make it complete and short, with the paths \
         and lines that matter, and with what you could not do. {may}",
        id = job.worker_id(),
        label = job.label(),
    )
}

#[cfg(test)]
mod tests {
    use agent_testkit::model::{ModelServer, Rule, Script, Usage};
    use agent_tool_core::Context;
    use agent_vibe::{Order, RosterLimits, WorkerFactory, WorkerTier, Workers};

    use super::*;
    use crate::models::Provider;

    struct Alone(Arc<ModelWorkers>);

    impl WorkerFactory for Alone {
        fn serves(&self, _tier: WorkerTier) -> bool {
            true
        }

        fn start(&self, job: Job) -> BoxFuture<'static, Result<String, WorkError>> {
            self.0.start(job)
        }
    }

    #[tokio::test]
    async fn what_workers_use_is_added_up_and_a_conversation_is_forgotten_with_its_worker() {
        let used = |input, output| Rule {
            usage: Some(Usage { input, output, cached: None }),
            ..Rule::text("done")
        };
        let server = ModelServer::start(Script::of([used(10, 1), used(20, 2)])).expect("a server");
        let (provider, url) = (Provider::Compatible, Some(server.url()));
        let config = ModelConfig { provider, url, name: "m".to_owned(), ..ModelConfig::default() };
        let usage = WorkerUsage::default();
        let models = Arc::new(ModelWorkers::new(config, Arc::clone(&usage)));
        let workers = Workers::new(Alone(Arc::clone(&models)), RosterLimits::default());
        let cx = Context::detached();
        workers.spawn(Order::new("do it", "doer"), &cx).expect("a worker");
        workers.wait("w1", None).await.expect("it ends");
        workers.send("w1", "again", &cx).expect("it takes it");
        workers.wait("w1", None).await.expect("it ends");
        let tally = lock(&usage)["w1"];
        assert_eq!((tally.answers, tally.input.known, tally.output.known), (2, 30, 3));
        assert_eq!(lock(&models.talks).len(), 1);
        workers.kill("w1").await.expect("it is killed");
        assert_eq!(lock(&models.talks).len(), 0);
    }
}

//! Random interleavings, held against the plainest model of what ought to happen.

use std::collections::BTreeMap;

use agent_tool_core::ToolResult;
use agent_vibe::RosterLimits;
use proptest::{collection::vec, prelude::*};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::support::{Crew, Outcome, Started, in_time, result};

/// What somebody does. A number picks one of the workers that there are, or one that there is not.
#[derive(Clone, Debug)]
enum Step {
    Spawn,
    Send(usize),
    Look(usize),
    /// Begins a wait that ends with the attempt in flight.
    Wait(usize),
    Kill(usize),
    /// The attempt in flight ends.
    Finish(usize),
    Fail(usize),
    Panic(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let worker = 0..6_usize;
    prop_oneof![
        4 => Just(Step::Spawn),
        4 => worker.clone().prop_map(Step::Send),
        1 => worker.clone().prop_map(Step::Look),
        3 => worker.clone().prop_map(Step::Wait),
        1 => worker.clone().prop_map(Step::Kill),
        3 => worker.clone().prop_map(Step::Finish),
        2 => worker.clone().prop_map(Step::Fail),
        1 => worker.prop_map(Step::Panic),
    ]
}

const RUNNING: usize = 3;
const SPAWNED: usize = 5;

/// A worker as it ought to be.
#[derive(Clone, Debug)]
struct Worker {
    status: &'static str,
    attempt: u32,
    /// The brief of the attempt, and the messages that wait.
    brief: Vec<String>,
    queued: Vec<String>,
    latest: Option<String>,
    /// What the last attempt that ended came to.
    ended: Option<String>,
}

#[derive(Default)]
struct Model {
    workers: Vec<Worker>,
}

impl Model {
    fn running(&self) -> usize {
        self.workers.iter().filter(|worker| worker.status == "running").count()
    }

    /// What a list ought to show.
    fn list(&self) -> Vec<Value> {
        (1..)
            .zip(&self.workers)
            .map(|(number, worker): (usize, _)| {
                json!({"worker_id": format!("w{number}"), "status": worker.status,
                    "attempt": worker.attempt, "queued": worker.queued.len(),
                    "result": worker.latest})
            })
            .collect()
    }
}

/// The real ones, and what the test holds of them.
struct Real {
    crew: Crew,
    /// The attempts in flight, by worker.
    flying: BTreeMap<usize, Started>,
    /// The waits in flight, with the attempt that each is for.
    waits: Vec<(usize, u32, JoinHandle<ToolResult>)>,
    messages: usize,
}

impl Real {
    async fn list(&self) -> Vec<Value> {
        let keep = ["worker_id", "status", "attempt", "queued", "result"];
        let mut workers = self.crew.list().await;
        for worker in &mut workers {
            worker
                .as_object_mut()
                .expect("an object")
                .retain(|key, _| keep.contains(&key.as_str()));
        }
        workers
    }

    /// Takes the attempt that has just begun.
    async fn begun(&mut self, index: usize, worker: &Worker) {
        let started = self.crew.next().await;
        assert_eq!(started.job.worker_id(), format!("w{}", index + 1));
        assert_eq!(started.job.attempt(), worker.attempt);
        assert_eq!(started.brief(), worker.brief);
        self.flying.insert(index, started);
    }

    /// All waits for this attempt end, as this says.
    async fn waits_end(
        &mut self,
        index: usize,
        attempt: u32,
        status: &str,
        outcome: Option<&str>,
        queued: usize,
    ) {
        let waits = std::mem::take(&mut self.waits).into_iter();
        let (over, still): (Vec<_>, Vec<_>) =
            waits.partition(|(worker, number, _)| (*worker, *number) == (index, attempt));
        self.waits = still;
        for (_, _, waiting) in over {
            let data = result(waiting).await.expect("an end").data;
            assert_eq!(data["status"], status);
            assert_eq!(data["attempt"], attempt);
            assert_eq!(data["queued"], queued);
            assert_eq!(data["timed_out"], false);
            assert_eq!(data["result"].as_str(), outcome);
        }
    }
}

async fn play(steps: Vec<Step>) {
    let limits = RosterLimits::default().running(RUNNING).spawned(SPAWNED);
    let crew = Crew::with(limits);
    let mut real = Real { crew, flying: BTreeMap::new(), waits: Vec::new(), messages: 0 };
    let mut model = Model::default();
    for step in steps {
        take(&step, &mut real, &mut model).await;
        assert_eq!(real.list().await, model.list(), "after {step:?}");
        assert!(real.crew.started.try_recv().is_err(), "no attempt without a reason: {step:?}");
        assert!(real.waits.iter().all(|(.., waiting)| !waiting.is_finished()), "after {step:?}");
    }
    let running = model.running();
    let ended = real.crew.workers.turn_off().await;
    assert_eq!((ended.killed, ended.detached), (running, 0));
    for (_, _, waiting) in real.waits {
        assert_eq!(result(waiting).await.expect_err("off").code, "vibe_off");
    }
    for (_, started) in real.flying {
        started.dropped().await;
    }
}

async fn take(step: &Step, real: &mut Real, model: &mut Model) {
    match *step {
        Step::Spawn => spawn(real, model).await,
        Step::Send(index) => send(index, real, model).await,
        Step::Look(index) => {
            let args = json!({"worker_id": format!("w{}", index + 1), "timeout_seconds": 0});
            let looked = in_time(real.crew.call("vibe_wait", args)).await;
            let Some(worker) = model.workers.get(index) else {
                assert_eq!(looked.expect_err("unknown").code, "unknown_worker");
                return;
            };
            let data = looked.expect("a look").data;
            assert_eq!(data["status"], worker.status);
            assert_eq!(data["timed_out"], worker.status == "running");
            let expected = worker.ended.as_deref().filter(|_| worker.status != "running");
            assert_eq!(data["result"].as_str(), expected);
        }
        Step::Wait(index) => {
            let id = format!("w{}", index + 1);
            let Some(worker) = model.workers.get(index) else { return };
            let waiting = real.crew.waiting(&id).await;
            if worker.status == "running" {
                real.waits.push((index, worker.attempt, waiting));
            } else {
                let data = result(waiting).await.expect("at once").data;
                assert_eq!(
                    (&data["status"], data["result"].as_str()),
                    (&json!(worker.status), worker.ended.as_deref())
                );
            }
        }
        Step::Kill(index) => kill(index, real, model).await,
        Step::Finish(index) => {
            end(index, Outcome::Done(format!("done {index}")), real, model).await
        }
        Step::Fail(index) => end(index, Outcome::Failed("no".into()), real, model).await,
        Step::Panic(index) => end(index, Outcome::Panics, real, model).await,
    }
}

async fn spawn(real: &mut Real, model: &mut Model) {
    let args = json!({"brief": "do it", "label": "a"});
    let spawned = real.crew.call("vibe_spawn", args).await;
    if model.workers.len() == SPAWNED || model.running() == RUNNING {
        assert_eq!(spawned.expect_err("full").code, "no_slot");
        return;
    }
    let index = model.workers.len();
    assert_eq!(spawned.expect("a slot").data["worker_id"], format!("w{}", index + 1));
    let brief = vec!["do it".to_owned()];
    let worker =
        Worker { status: "running", attempt: 1, brief, queued: vec![], latest: None, ended: None };
    model.workers.push(worker.clone());
    real.begun(index, &worker).await;
}

async fn send(index: usize, real: &mut Real, model: &mut Model) {
    real.messages += 1;
    let message = format!("message {}", real.messages);
    let args = json!({"worker_id": format!("w{}", index + 1), "message": message});
    let sent = real.crew.call("vibe_send", args).await;
    let full = model.running() == RUNNING;
    let Some(worker) = model.workers.get_mut(index) else {
        assert_eq!(sent.expect_err("unknown").code, "unknown_worker");
        return;
    };
    match worker.status {
        "killed" => assert_eq!(sent.expect_err("killed").code, "killed_worker"),
        "running" => {
            worker.queued.push(message);
            assert_eq!(sent.expect("queued").data["queued"], worker.queued.len());
        }
        _ if full => assert_eq!(sent.expect_err("full").code, "no_slot"),
        _ => {
            worker.brief.push(message);
            worker.attempt += 1;
            worker.status = "running";
            assert_eq!(sent.expect("sent").data["attempt"], worker.attempt);
            let worker = worker.clone();
            real.begun(index, &worker).await;
        }
    }
}

async fn kill(index: usize, real: &mut Real, model: &mut Model) {
    let args = json!({"worker_id": format!("w{}", index + 1)});
    let killed = in_time(real.crew.call("vibe_kill", args)).await;
    let Some(worker) = model.workers.get_mut(index) else {
        assert_eq!(killed.expect_err("unknown").code, "unknown_worker");
        return;
    };
    assert_eq!(killed.expect("killed").data["status"], "killed");
    if worker.status == "running" {
        worker.ended = None;
        worker.queued.clear();
        let attempt = worker.attempt;
        real.waits_end(index, attempt, "killed", None, 0).await;
        real.flying.remove(&index).expect("in flight").dropped().await;
    }
    worker.status = "killed";
}

async fn end(index: usize, outcome: Outcome, real: &mut Real, model: &mut Model) {
    let Some(started) = real.flying.remove(&index) else { return };
    let worker = &mut model.workers[index];
    let (status, said) = match &outcome {
        Outcome::Done(said) => ("done", said.clone()),
        Outcome::Failed(said) => ("failed", said.clone()),
        Outcome::Panics => ("failed", "it panicked: out of cheese".to_owned()),
    };
    // Somebody always waits for the end, so that the test does.
    let waiting = real.crew.waiting(&format!("w{}", index + 1)).await;
    real.waits.push((index, worker.attempt, waiting));
    started.end(outcome);
    let (attempt, queued) = (worker.attempt, worker.queued.len());
    real.waits_end(index, attempt, status, Some(&said), queued).await;
    worker.status = status;
    (worker.latest, worker.ended) = (Some(said.clone()), Some(said));
    if queued > 0 {
        worker.brief.append(&mut worker.queued);
        worker.attempt += 1;
        worker.status = "running";
        let worker = worker.clone();
        real.begun(index, &worker).await;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    // spec: VIBE-02, VIBE-04, VIBE-05, VIBE-06, VIBE-07
    #[test]
    fn any_interleaving_does_as_the_model_says(steps in vec(step(), 1..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.expect("a runtime").block_on(play(steps));
    }
}

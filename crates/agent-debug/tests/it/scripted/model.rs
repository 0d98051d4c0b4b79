//! Random sequences of operations against a model of which of them is allowed when, and what comes of it.

use agent_testkit::dap::{Manner, Rule, Script, Step, Toy};
use proptest::{
    prelude::*,
    test_runner::{Config, TestRunner},
};
use serde_json::{Value, json};

use super::Fake;
use crate::support::block_on;

/// How many sequences there are.
const CASES: u32 = 24;

/// How long a wait is that nothing answers.
const WAIT_MS: u64 = 150;

#[derive(Clone, Debug)]
enum Op {
    Breakpoints(Vec<u32>),
    Launch,
    Continue,
    Pause,
    Step,
    Threads,
    Stack,
    Evaluate,
    /// The variables of a reference: of the newest, or of the oldest that was ever given.
    Variables {
        old: bool,
    },
    Output,
    Status,
    Terminate,
}

#[derive(Clone, Debug)]
struct World {
    toy: Toy,
    /// The adapter dies at such a resume.
    dies_at: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    Running { line: u32 },
    Stopped { line: u32 },
    Ended,
}

struct Model {
    world: World,
    breakpoints: Vec<u32>,
    /// Those that the adapter was sent.
    sent: Vec<u32>,
    state: State,
    resumes: u64,
    references: Vec<i64>,
    /// How many of them are of an earlier stop.
    stale: usize,
}

pub(crate) fn any_sequence_of_operations_does_as_the_table_says() {
    let op = prop_oneof![
        2 => prop::collection::vec(1..14_u32, 0..3).prop_map(Op::Breakpoints),
        3 => Just(Op::Launch),
        4 => Just(Op::Continue),
        2 => Just(Op::Pause),
        5 => Just(Op::Step),
        1 => Just(Op::Threads),
        3 => Just(Op::Stack),
        2 => Just(Op::Evaluate),
        4 => any::<bool>().prop_map(|old| Op::Variables { old }),
        1 => Just(Op::Output),
        1 => Just(Op::Status),
        1 => Just(Op::Terminate),
    ];
    let manner = prop_oneof![
        Just(Manner::Debugpy),
        Just(Manner::Lldb),
        Just(Manner::Delve),
        Just(Manner::Dart)
    ];
    let world =
        (manner, any::<[bool; 3]>(), prop::option::of(2..12_u32), prop::option::of(1..4_u64));
    let world = world.prop_map(|(manner, [spins, first, slow], crash, dies_at)| World {
        toy: Toy {
            lines: 12,
            crash,
            spins,
            stops_first: first,
            run_ms: if slow { 8 } else { 0 },
            ..Toy::new(manner)
        },
        dies_at,
    });
    // Most sequences begin with a program that stops, since the rest of them is about that.
    let begun = prop::collection::vec(1..9_u32, 1..4)
        .prop_map(|lines| vec![Op::Breakpoints(lines), Op::Launch, Op::Stack]);
    let begun = prop_oneof![3 => begun, 1 => Just(Vec::new())];
    let ops =
        (begun, prop::collection::vec(op, 1..25)).prop_map(|(first, more)| [first, more].concat());
    let case = (world, ops);
    let mut runner =
        TestRunner::new(Config { failure_persistence: None, ..Config::with_cases(CASES) });
    let ran = runner.run(&case, |(world, ops)| {
        block_on(play(world, ops));
        Ok(())
    });
    if let Err(error) = ran {
        panic!("{error}");
    }
}

async fn play(world: World, ops: Vec<Op>) {
    let name = match world.toy.manner {
        Manner::Debugpy => "python3",
        Manner::Lldb => "lldb-dap",
        Manner::Delve => "dlv",
        Manner::Dart => "dart",
    };
    let mut script = Script::new(name, world.toy.clone());
    if let Some(nth) = world.dies_at {
        script = script.rule(Rule::on("next").nth(nth).then([Step::Exit(9)]));
    }
    let fake = Fake::new(script);
    let mut model = Model {
        world,
        breakpoints: Vec::new(),
        sent: Vec::new(),
        state: State::Idle,
        resumes: 0,
        references: Vec::new(),
        stale: 0,
    };
    for op in ops {
        let args = model.args(&op, &fake);
        let came = match fake.checkout.call(args).await {
            Ok(output) => Ok(output.data),
            Err(error) => Err(error.code.into_owned()),
        };
        model.check(&op, came);
        if matches!(model.state, State::Stopped { .. }) && matches!(op, Op::Stack) {
            let stack = fake.op("stack").await;
            let scopes = json!({"op": "scopes", "frame_id": stack["frames"][0]["id"]});
            let scopes = fake.checkout.data(scopes).await;
            model.references.push(scopes["scopes"][0]["reference"].as_i64().unwrap());
        }
    }
    fake.op("terminate").await;
    fake.checkout.nothing_left();
}

impl Model {
    fn args(&self, op: &Op, fake: &Fake) -> Value {
        let run = |op: &str| json!({"op": op, "timeout_ms": self.wait()});
        match op {
            Op::Breakpoints(lines) => {
                json!({"op": "breakpoints", "file": "toy.txt", "lines": lines})
            }
            Op::Launch => {
                let mut args = fake.launch_args();
                args["timeout_ms"] = self.wait().into();
                args
            }
            Op::Continue => run("continue"),
            Op::Pause => json!({"op": "pause"}),
            Op::Step => run("step_over"),
            Op::Threads => json!({"op": "threads"}),
            Op::Stack => json!({"op": "stack"}),
            Op::Evaluate => json!({"op": "evaluate", "expression": "e"}),
            Op::Variables { .. } => json!({"op": "variables", "reference": self.reference(op)}),
            Op::Output => json!({"op": "output"}),
            Op::Status => json!({"op": "status"}),
            Op::Terminate => json!({"op": "terminate"}),
        }
    }

    /// Long where something comes, short where nothing will.
    fn wait(&self) -> u64 {
        if self.world.toy.spins { WAIT_MS } else { 20_000 }
    }

    fn reference(&self, op: &Op) -> i64 {
        let found = match op {
            Op::Variables { old: true } => self.references.first(),
            _ => self.references.last(),
        };
        found.copied().unwrap_or(100_000)
    }

    fn check(&mut self, op: &Op, came: Result<Value, String>) {
        let said = format!("{op:?} in {:?} of {:?} came to {came:?}", self.state, self.world);
        let expected = self.expected(op);
        match (&expected, &came) {
            (Err(code), Err(came)) => assert_eq!(came, code, "{said}"),
            (Ok(None), Ok(_)) => {}
            (Ok(Some(value)), Ok(came)) => {
                let (pointer, value) = value;
                assert_eq!(came.pointer(pointer), Some(value), "{said}");
            }
            _ => panic!("{said}, and not to {expected:?}"),
        }
        if let (Op::Status, Ok(came)) = (op, &came) {
            let name = match self.state {
                State::Idle => "none",
                State::Running { .. } => "running",
                State::Stopped { .. } => "stopped",
                State::Ended => "ended",
            };
            assert_eq!(came["state"], name, "{said}");
        }
        if let (Op::Continue | Op::Step | Op::Launch | Op::Pause, Ok(came)) = (op, &came) {
            let line = match self.state {
                State::Stopped { line } => json!(line),
                _ => json!(null),
            };
            assert_eq!(came["frame"]["line"], line, "{said}");
        }
    }

    /// What comes of an operation: the code of an error, or a value at a place.
    fn expected(&mut self, op: &Op) -> Result<Option<(&'static str, Value)>, &'static str> {
        let live = match self.state {
            State::Idle => Err("no_session"),
            State::Ended => Err("session_ended"),
            State::Running { .. } | State::Stopped { .. } => Ok(()),
        };
        match op {
            Op::Breakpoints(lines) => {
                self.breakpoints = lines.iter().filter_map(|line| bound(*line)).collect();
                if live.is_ok() {
                    self.sent = self.breakpoints.clone();
                }
                Ok(None)
            }
            Op::Status | Op::Terminate if self.state == State::Idle => Ok(None),
            Op::Status => Ok(None),
            Op::Terminate => {
                self.moved();
                self.state = State::Ended;
                Ok(None)
            }
            Op::Output => {
                if self.state == State::Idle {
                    Err("no_session")
                } else {
                    Ok(None)
                }
            }
            Op::Launch => {
                if live.is_ok() {
                    return Err("session_live");
                }
                self.moved();
                self.resumes = 0;
                self.sent = self.breakpoints.clone();
                self.run(0, None);
                Ok(Some(("/state", self.word())))
            }
            Op::Threads => live.map(|()| None),
            Op::Continue => {
                live?;
                if let State::Stopped { line } = self.state {
                    self.moved();
                    self.run(line, None);
                }
                Ok(Some(("/state", self.word())))
            }
            Op::Pause => {
                live?;
                if let State::Running { line } = self.state {
                    self.state = State::Stopped { line };
                }
                Ok(Some(("/state", json!("stopped"))))
            }
            Op::Step => {
                let line = self.stopped()?;
                self.moved();
                self.resumes += 1;
                if self.world.dies_at == Some(self.resumes) {
                    self.state = State::Ended;
                    return Err("adapter_died");
                }
                self.run(line, Some(()));
                Ok(Some(("/state", self.word())))
            }
            Op::Stack => self.stopped().map(|line| Some(("/frames/0/line", json!(line)))),
            Op::Evaluate => {
                self.stopped().map(|line| Some(("/result", json!(format!("e at {line}")))))
            }
            Op::Variables { old } => {
                let line = self.stopped()?;
                let index = if *old { 0 } else { self.references.len().wrapping_sub(1) };
                if self.references.is_empty() {
                    Err("unknown_reference")
                } else if index < self.stale {
                    Err("stale_reference")
                } else {
                    Ok(Some(("/variables/0/value", json!(line.to_string()))))
                }
            }
        }
    }

    fn stopped(&self) -> Result<u32, &'static str> {
        match self.state {
            State::Idle => Err("no_session"),
            State::Ended => Err("session_ended"),
            State::Running { .. } => Err("running"),
            State::Stopped { line } => Ok(line),
        }
    }

    fn moved(&mut self) {
        self.stale = self.references.len();
    }

    fn run(&mut self, from: u32, step: Option<()>) {
        let mut last = from;
        for line in (from + 1..=self.world.toy.lines).filter(|line| !line.is_multiple_of(5)) {
            last = line;
            let stops = self.world.toy.crash == Some(line) || self.sent.contains(&line);
            if stops || step.is_some() {
                self.state = State::Stopped { line };
                return;
            }
        }
        self.state =
            if self.world.toy.spins { State::Running { line: last } } else { State::Ended };
    }

    fn word(&self) -> Value {
        match self.state {
            State::Stopped { .. } => json!("stopped"),
            State::Running { .. } => json!("running"),
            State::Idle | State::Ended => json!("ended"),
        }
    }
}

fn bound(line: u32) -> Option<u32> {
    let line = if line.is_multiple_of(5) { line + 1 } else { line };
    (line <= 12).then_some(line)
}

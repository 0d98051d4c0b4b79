//! What looks at a debuggee that stands still.

use std::time::Duration;

use agent_tool_core::{ErrorKind, ToolError, clip};
use debug_types::requests::EvalContext;

use super::{
    Debugger,
    halt::{MAX_FRAMES, reason},
};
use crate::{
    error::{RequestError, of_request},
    ids::{Kind, Missing},
    protocol::{Frame, Scope, Thread, Variable, outgoing},
    report::{
        EvaluateReport, MAX_CHILDREN, MAX_EVALUATED_CHARS, MAX_RESULT_BYTES, ScopeShown,
        ScopesReport, StackReport, ThreadShown, ThreadsReport, VariablesReport, fit,
        shown_variable,
    },
    session::{Live, MAX_REQUEST_TIME, MAX_VARIABLES_TIME},
    source::FrameShown,
    state::{Halt, Phase},
    traceback::own_lines,
};

/// The most threads that are listed.
const MAX_THREADS: usize = 200;

impl Debugger {
    /// The threads with their names.
    ///
    /// # Errors
    ///
    /// `no_session`, `session_ended`, `unresponsive`, `adapter_refused`, `busy_session`.
    pub async fn threads(&self) -> Result<ThreadsReport, ToolError> {
        let _operating = self.operate("threads")?;
        let live = self.session().await?;
        let threads = self.all_threads(&live).await?;
        let stopped = match &live.shared.state().phase {
            Phase::Stopped(halt) => halt.stop.thread,
            _ => None,
        };
        let shown = threads.into_iter().take(MAX_THREADS).map(|thread| {
            let name = clip(thread.name.trim_start_matches("* "), 120).text;
            ThreadShown { id: thread.id, name: (!name.is_empty()).then_some(name) }
        });
        Ok(ThreadsReport { threads: shown.collect(), stopped })
    }

    /// The stack of a thread, [`MAX_FRAMES`] frames at most.
    ///
    /// # Errors
    ///
    /// `no_session`, `session_ended`, `running`, `unknown_thread`, `unresponsive`, `busy_session`.
    pub async fn stack(&self, thread: Option<i64>) -> Result<StackReport, ToolError> {
        let _operating = self.operate("stack")?;
        let (live, halt) = self.stopped().await?;
        let thread = self.thread(&live, &halt, thread).await?;
        let body = live
            .ask(&outgoing::stack_trace(thread, MAX_FRAMES), MAX_REQUEST_TIME)
            .await
            .map_err(of_request)?;
        let frames = Frame::all(&body);
        let said = body["totalFrames"].as_u64().and_then(|total| usize::try_from(total).ok());
        let total = said.unwrap_or(0).max(frames.len());
        let frames = self.shown(&live, &frames);
        let more = total - frames.len();
        Ok(StackReport { frames, total, more })
    }

    /// The scopes of a frame.
    ///
    /// # Errors
    ///
    /// As [`Debugger::stack`], and `stale_reference`, `unknown_reference`.
    pub async fn scopes(&self, frame: i64) -> Result<ScopesReport, ToolError> {
        let _operating = self.operate("scopes")?;
        let (live, _) = self.stopped().await?;
        let adapter = self.adapter_id(&live, Kind::Frame, frame)?;
        let scopes = all_scopes(&live, adapter).await.map_err(of_request)?;
        let mut state = live.shared.state();
        let scopes = scopes.into_iter().map(|scope| ScopeShown {
            name: scope.name,
            reference: (scope.reference != 0)
                .then(|| state.ids.give(Kind::Scope(adapter), scope.reference)),
            expensive: scope.expensive,
        });
        Ok(ScopesReport { scopes: scopes.collect() })
    }

    /// The children of a reference, [`MAX_CHILDREN`] at most.
    ///
    /// # Errors
    ///
    /// As [`Debugger::scopes`].
    pub async fn variables(&self, reference: i64) -> Result<VariablesReport, ToolError> {
        let _operating = self.operate("variables")?;
        let (live, _) = self.stopped().await?;
        let adapter = self.adapter_id(&live, Kind::Reference, reference)?;
        let frame = live.shared.state().ids.frame_of(reference);
        let now = live.shared.state().scopes.get(&adapter).copied();
        if let Some(frame) = frame
            && now != Some(frame)
        {
            all_scopes(&live, frame).await.map_err(of_request)?;
        }
        self.children(&live, adapter, MAX_RESULT_BYTES).await
    }

    /// Evaluates an expression in a frame: by default the top one, at a crash the first one of the user's. It may change the debuggee.
    ///
    /// # Errors
    ///
    /// As [`Debugger::scopes`], and `evaluate_failed`.
    pub async fn evaluate(
        &self,
        expression: &str,
        frame: Option<i64>,
    ) -> Result<EvaluateReport, ToolError> {
        let _operating = self.operate("evaluate")?;
        let (live, halt) = self.stopped().await?;
        let (frame, chosen) = match frame {
            Some(frame) => (self.adapter_id(&live, Kind::Frame, frame)?, None),
            None => self.usual_frame(&live, &halt).await?,
        };
        let ask = |context| {
            let request = outgoing::evaluate(expression, frame, context);
            let live = live.clone();
            async move { live.ask(&request, MAX_VARIABLES_TIME).await }
        };
        let mut answer = ask(EvalContext::Watch).await;
        // Nothing of a statement is executed where only an expression is taken.
        if matches!(&answer, Err(RequestError::Refused(why)) if why.contains("SyntaxError")) {
            answer = ask(EvalContext::Repl).await;
        }
        let body = answer.map_err(|error| match error {
            RequestError::Refused(why) => failed(&clip(&own_lines(&why), MAX_EVALUATED_CHARS).text),
            other => of_request(other),
        })?;
        let value = Variable::evaluated(&body);
        let reference = self.reference(&live, &value);
        let longest = live.adapter.longest_value;
        let shown = shown_variable(&value, reference, MAX_EVALUATED_CHARS, longest);
        Ok(EvaluateReport { result: shown.value, kind: shown.kind, reference, frame: chosen })
    }

    /// The frame in which an expression is meant where none is named: the top one, or, where the program crashed in a library
    /// or its runtime, the first of the user's, whose locals were told. That one is told of too.
    async fn usual_frame(
        &self,
        live: &Live,
        halt: &Halt,
    ) -> Result<(i64, Option<FrameShown>), ToolError> {
        let frames = self.frames(live, halt).await?;
        let top = frames.first().ok_or_else(|| {
            failed("the adapter names no frame here, so there is nothing to evaluate in")
        })?;
        if !reason(live, halt, &frames).crash {
            return Ok((top.id, None));
        }
        let shown = self.shown(live, &frames);
        match shown.iter().position(|frame| frame.user) {
            Some(first @ 1..) => Ok((frames[first].id, shown.into_iter().nth(first))),
            _ => Ok((top.id, None)),
        }
    }

    /// The children of an adapter's reference, as many as fit in so many bytes.
    pub(super) async fn children(
        &self,
        live: &Live,
        adapter: i64,
        bytes: usize,
    ) -> Result<VariablesReport, ToolError> {
        // One more than is shown, to know whether there are more.
        let request = outgoing::variables(adapter, MAX_CHILDREN + 1);
        let body = live.ask(&request, MAX_VARIABLES_TIME).await.map_err(of_request)?;
        let counted = live.shared.state().children_of(adapter);
        let all = Variable::all(&body);
        let reference = |variable: &Variable| self.reference(live, variable);
        Ok(fit(all, counted, bytes, live.adapter.longest_value, reference))
    }

    fn reference(&self, live: &Live, variable: &Variable) -> Option<i64> {
        if variable.reference == 0 {
            return None;
        }
        let mut state = live.shared.state();
        if let Some(count) = variable.children {
            state.children.insert(variable.reference, count);
        }
        Some(state.ids.give(Kind::Reference, variable.reference))
    }

    /// What the adapter calls an id of ours.
    fn adapter_id(&self, live: &Live, kind: Kind, id: i64) -> Result<i64, ToolError> {
        let state = live.shared.state();
        let (what, how) = match kind {
            Kind::Frame => ("frame", "call stack again"),
            Kind::Reference | Kind::Scope(_) => ("reference", "call stack and scopes again"),
        };
        state.ids.adapter(kind, id).map_err(|missing| match missing {
            Missing::Stale => {
                let ago = ago(state.moved.elapsed());
                ToolError::new(
                    ErrorKind::Conflict,
                    "stale_reference",
                    format!(
                        "{what} {id} is from an earlier stop (the program moved on {ago}); {how}"
                    ),
                )
            }
            Missing::Never => unknown(format!("there is no {what} {id}; {how}")),
            Missing::IsA(Kind::Frame) => {
                unknown(format!("{id} is a frame and no reference; scopes gives its references"))
            }
            Missing::IsA(_) => {
                unknown(format!("{id} is a reference and no frame; stack gives the frames"))
            }
        })
    }

    /// The thread that is meant at a stop.
    pub(super) async fn thread(
        &self,
        live: &Live,
        halt: &Halt,
        asked: Option<i64>,
    ) -> Result<i64, ToolError> {
        let stopped = live.shared.state().thread_of(halt);
        match (asked, stopped) {
            (None, Some(stopped)) => Ok(stopped),
            (Some(asked), Some(stopped)) if asked == stopped => Ok(stopped),
            (None, None) => self.any_thread(live).await,
            (Some(asked), _) => self.known_thread(live, asked).await,
        }
    }

    /// A thread of a debuggee that runs.
    pub(super) async fn running_thread(
        &self,
        live: &Live,
        asked: Option<i64>,
    ) -> Result<i64, ToolError> {
        match asked {
            Some(asked) => self.known_thread(live, asked).await,
            None => self.any_thread(live).await,
        }
    }

    async fn known_thread(&self, live: &Live, asked: i64) -> Result<i64, ToolError> {
        let threads = self.all_threads(live).await?;
        if threads.iter().any(|thread| thread.id == asked) {
            return Ok(asked);
        }
        let known: Vec<_> = threads.iter().take(20).map(|thread| thread.id.to_string()).collect();
        Err(ToolError::new(
            ErrorKind::NotFound,
            "unknown_thread",
            format!("there is no thread {asked}; there are {}", known.join(", ")),
        ))
    }

    /// The thread that the adapter has selected, or the first one.
    pub(super) async fn any_thread(&self, live: &Live) -> Result<i64, ToolError> {
        let threads = self.all_threads(live).await?;
        let selected = threads.iter().find(|thread| thread.name.starts_with('*'));
        // An adapter that names no thread takes any number for all of them.
        Ok(selected.or(threads.first()).map_or(1, |thread| thread.id))
    }

    async fn all_threads(&self, live: &Live) -> Result<Vec<Thread>, ToolError> {
        if let Some(error) = live.given_up() {
            return Err(error);
        }
        let body = live.ask(&outgoing::threads(), MAX_REQUEST_TIME).await.map_err(of_request)?;
        let mut threads = Thread::all(&body);
        // Delve's stand-in while it knows none.
        threads.retain(|thread| thread.id >= 0);
        Ok(threads)
    }
}

/// Asks for the scopes of a frame of the adapter's; its references to them tell of that frame from now on.
pub(super) async fn all_scopes(live: &Live, frame: i64) -> Result<Vec<Scope>, RequestError> {
    let body = live.ask(&outgoing::scopes(frame), MAX_REQUEST_TIME).await?;
    let scopes = Scope::all(&body);
    let mut state = live.shared.state();
    state.scopes.extend(scopes.iter().map(|scope| (scope.reference, frame)));
    drop(state);
    Ok(scopes)
}

fn failed(why: &str) -> ToolError {
    ToolError::new(ErrorKind::InvalidArgs, "evaluate_failed", why)
}

fn unknown(message: String) -> ToolError {
    ToolError::new(ErrorKind::NotFound, "unknown_reference", message)
}

fn ago(time: Duration) -> String {
    match time.as_secs() {
        0 => "just now".to_owned(),
        seconds if seconds < 120 => format!("{seconds} s ago"),
        seconds => format!("{} min ago", seconds / 60),
    }
}

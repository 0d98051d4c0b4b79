//! What is sent, made of `debug_types`. Its ids have 32 bits, and those of real adapters do not fit: an id is set afterwards.

use std::path::Path;

use debug_types::{
    requests::{
        ContinueArguments, DisconnectArguments, EvalContext, EvaluateArguments,
        ExceptionInfoArguments, InitializeRequestArguments, NextArguments, PathFormat,
        PauseArguments, ScopesArguments, SetBreakpointsArguments, SetExceptionBreakpointsArguments,
        SetFunctionBreakpointsArguments, StackTraceArguments, StepInArguments, StepOutArguments,
        VariablesArguments,
    },
    types::{FunctionBreakpoint, Source, SourceBreakpoint},
};
use serde::Serialize;
use serde_json::{Value, json};

/// A request: its command and its arguments, null where it has none.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Request {
    pub(crate) command: &'static str,
    pub(crate) arguments: Value,
}

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StepKind {
    Over,
    In,
    Out,
}

/// What becomes of the debuggee when the session is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leave {
    Killed,
    Running,
}

pub(crate) fn initialize(adapter: &str) -> Request {
    let arguments = InitializeRequestArguments {
        client_id: None,
        client_name: Some("agent-debug".to_owned()),
        adapter_id: adapter.to_owned(),
        locale: Some("en".to_owned()),
        lines_start_at1: Some(true),
        columns_start_at1: Some(true),
        path_format: Some(PathFormat::Path),
        supports_variable_type: Some(true),
        supports_variable_paging: Some(true),
        supports_run_in_terminal_request: Some(false),
        supports_memory_references: None,
        supports_progress_reporting: None,
        supports_invalidated_event: None,
        supports_memory_event: None,
    };
    request("initialize", arguments)
}

/// `launch` or `attach`, whose arguments are each adapter's own.
pub(crate) fn start(command: &'static str, arguments: Value) -> Request {
    Request { command, arguments }
}

pub(crate) fn configuration_done() -> Request {
    Request { command: "configurationDone", arguments: json!({}) }
}

pub(crate) fn set_breakpoints(path: &Path, breakpoints: Vec<SourceBreakpoint>) -> Request {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    let source = Source {
        name,
        path: Some(path.to_string_lossy().into_owned()),
        source_reference: None,
        presentation_hint: None,
        origin: None,
        sources: None,
        adapter_data: None,
        checksums: None,
    };
    let lines = breakpoints.iter().map(|breakpoint| i32::try_from(breakpoint.line).unwrap_or(0));
    let arguments = SetBreakpointsArguments {
        source,
        lines: Some(lines.collect()),
        breakpoints: Some(breakpoints),
        source_modified: Some(false),
    };
    request("setBreakpoints", arguments)
}

pub(crate) fn set_function_breakpoints(names: &[&str]) -> Request {
    let breakpoint = |name: &&str| FunctionBreakpoint {
        name: (*name).to_owned(),
        condition: None,
        hit_condition: None,
    };
    let breakpoints = names.iter().map(breakpoint).collect();
    request("setFunctionBreakpoints", SetFunctionBreakpointsArguments { breakpoints })
}

pub(crate) fn set_exception_breakpoints(filters: Vec<String>) -> Request {
    let arguments =
        SetExceptionBreakpointsArguments { filters, filter_options: None, exception_options: None };
    request("setExceptionBreakpoints", arguments)
}

pub(crate) fn threads() -> Request {
    Request { command: "threads", arguments: Value::Null }
}

pub(crate) fn resume(thread: i64) -> Request {
    let arguments = ContinueArguments { thread_id: 0, single_thread: None };
    request("continue", arguments).with_id("threadId", thread)
}

pub(crate) fn pause(thread: i64) -> Request {
    request("pause", PauseArguments { thread_id: 0 }).with_id("threadId", thread)
}

pub(crate) fn step(kind: StepKind, thread: i64) -> Request {
    let request = match kind {
        StepKind::Over => {
            request("next", NextArguments { thread_id: 0, single_thread: None, granularity: None })
        }
        StepKind::In => request(
            "stepIn",
            StepInArguments {
                thread_id: 0,
                single_thread: None,
                target_id: None,
                granularity: None,
            },
        ),
        StepKind::Out => request(
            "stepOut",
            StepOutArguments { thread_id: 0, single_thread: None, granularity: None },
        ),
    };
    request.with_id("threadId", thread)
}

pub(crate) fn stack_trace(thread: i64, levels: usize) -> Request {
    let arguments = StackTraceArguments {
        thread_id: 0,
        start_frame: Some(0),
        levels: i32::try_from(levels).ok(),
        format: None,
    };
    request("stackTrace", arguments).with_id("threadId", thread)
}

pub(crate) fn scopes(frame: i64) -> Request {
    request("scopes", ScopesArguments { frame_id: 0 }).with_id("frameId", frame)
}

/// The first `count` children; not every adapter keeps to the count.
pub(crate) fn variables(reference: i64, count: usize) -> Request {
    let arguments = VariablesArguments {
        variables_reference: 0,
        filter: None,
        start: Some(0),
        count: i32::try_from(count).ok(),
        format: None,
    };
    request("variables", arguments).with_id("variablesReference", reference)
}

pub(crate) fn evaluate(expression: &str, frame: i64, context: EvalContext) -> Request {
    let arguments = EvaluateArguments {
        expression: expression.to_owned(),
        frame_id: Some(0),
        context: Some(context),
        format: None,
    };
    request("evaluate", arguments).with_id("frameId", frame)
}

pub(crate) fn exception_info(thread: i64) -> Request {
    let arguments = ExceptionInfoArguments { thread_id: 0 };
    request("exceptionInfo", arguments).with_id("threadId", thread)
}

/// Always says what becomes of the debuggee: what an adapter does without the word differs.
pub(crate) fn disconnect(leave: Leave) -> Request {
    let arguments = DisconnectArguments {
        restart: Some(false),
        terminate_debuggee: Some(leave == Leave::Killed),
        suspend_debuggee: None,
    };
    request("disconnect", arguments)
}

/// The refusal of a request that the adapter makes.
pub(crate) fn refusal(seq: i64, request_seq: i64, command: &str) -> Value {
    json!({
        "seq": seq, "type": "response", "request_seq": request_seq, "command": command,
        "success": false, "message": "not supported",
    })
}

fn request(command: &'static str, arguments: impl Serialize) -> Request {
    Request { command, arguments: serde_json::to_value(arguments).unwrap_or_default() }
}

impl Request {
    fn with_id(mut self, field: &str, id: i64) -> Self {
        self.arguments[field] = id.into();
        self
    }

    /// The message.
    pub(crate) fn message(&self, seq: i64) -> Value {
        let mut message = json!({"seq": seq, "type": "request", "command": self.command});
        if !self.arguments.is_null() {
            message["arguments"] = self.arguments.clone();
        }
        message
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Leave, disconnect, evaluate, initialize, stack_trace, threads};
    use debug_types::requests::EvalContext;

    #[test]
    fn ids_beyond_32_bits_are_sent_whole() {
        let sent = stack_trace(4_294_967_296, 30).message(3);
        let expected = json!({"seq": 3, "type": "request", "command": "stackTrace",
            "arguments": {"threadId": 4_294_967_296_i64, "startFrame": 0, "levels": 30}});
        assert_eq!(sent, expected);
        let sent = evaluate("a + b", 7, EvalContext::Watch).arguments;
        assert_eq!(sent, json!({"expression": "a + b", "frameId": 7, "context": "watch"}));
    }

    #[test]
    fn nothing_is_offered_that_would_be_refused() {
        let sent = initialize("debugpy").arguments;
        assert_eq!(sent["adapterID"], "debugpy");
        assert_eq!(sent["supportsRunInTerminalRequest"], false);
        assert_eq!(sent.get("supportsStartDebuggingRequest"), None);
        assert_eq!(disconnect(Leave::Running).arguments["terminateDebuggee"], false);
        assert_eq!(threads().message(1).get("arguments"), None);
    }
}

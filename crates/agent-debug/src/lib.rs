#![doc = include_str!("../README.md")]

mod adapters;
mod breakpoints;
mod connection;
mod debugger;
mod error;
mod ids;
mod output;
pub mod protocol;
mod report;
mod session;
mod source;
mod state;
mod tool;
mod traceback;

pub use crate::{
    breakpoints::{BreakpointState, MAX_BREAKPOINT_LINES, Status},
    connection::MAX_MESSAGE_BYTES,
    debugger::{
        AttachArgs, BreakpointsArgs, Debugger, LAUNCH_TIME, LaunchArgs, MAX_FRAMES,
        MAX_OUTPUT_SHOWN, MAX_WAIT_TIME, PAUSE_TIME, RunArgs, STEP_TIME, Step,
    },
    output::MAX_OUTPUT_BYTES,
    report::{
        AdapterState, AdaptersReport, EvaluateReport, LocalsReport, MAX_CHILDREN,
        MAX_EVALUATED_CHARS, MAX_RESULT_BYTES, MAX_VALUE_CHARS, OutputReport, RunReport, RunState,
        ScopeShown, ScopesReport, StackReport, StatusReport, ThreadShown, ThreadsReport,
        VariableShown, VariablesReport,
    },
    session::{
        MAX_ATTACH_TIME, MAX_REQUEST_TIME, MAX_SESSION_TIME, MAX_START_TIME, MAX_VARIABLES_TIME,
    },
    source::FrameShown,
    tool::{DebugArgs, Op, debug_tool},
};

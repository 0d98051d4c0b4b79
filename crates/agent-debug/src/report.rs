//! What an operation found, as data and as a text that a model reads.

mod run;
mod status;
mod values;

pub(crate) use self::{
    run::indented,
    values::{fit, shown_variable},
};
pub use self::{
    run::{AdapterState, AdaptersReport, LocalsReport, RunReport, RunState, ThreadShown},
    status::{OutputReport, StatusReport},
    values::{
        EvaluateReport, MAX_CHILDREN, MAX_EVALUATED_CHARS, MAX_RESULT_BYTES, MAX_VALUE_CHARS,
        ScopeShown, ScopesReport, StackReport, ThreadsReport, VariableShown, VariablesReport,
    },
};

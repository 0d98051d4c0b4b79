#![doc = include_str!("../README.md")]

mod blocking;
mod edit;
mod error;
mod failures;
mod found;
mod grep;
mod hints;
mod ladder;
mod literals;
mod matcher;
mod metavar;
mod ordered;
mod own_text;
mod pattern;
mod program;
mod rewrite;
mod scan;
mod search;
mod staging;
mod structure;
mod symbols;
mod tools;
mod trees;

pub use edit::{Action, EditArgs, ResolveArgs};
pub use error::{ContextFailure, ErrorKind, PatternError, RewriteError};
pub use found::{CaptureText, GrepMatch};
pub use grep::{DEFAULT_RESULTS, GrepArgs, GrepHint, GrepOutcome, GrepSkipped, MAX_RESULTS};
pub use hints::{Hint, HintKind};
pub use literals::{Literal, Literals};
pub use matcher::MAX_STEPS;
pub use metavar::{Variable, VariableKind};
pub use pattern::{Capture, MAX_PATTERN_BYTES, MAX_PATTERN_DEPTH, Match, Matches, Pattern};
pub use rewrite::{Edit, MAX_NESTED, Rewrite, Rewritten, SkipReason, Skipped};
pub use staging::{MAX_STAGED, MAX_STAGED_BYTES};
pub use structure::Structure;
pub use trees::{TREE_BUDGET_BYTES, Trees};

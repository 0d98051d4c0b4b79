//! The errors of patterns and rewrites. Each has a stable code, and a message that says what to do.

use std::fmt;

use agent_grammars::ContextName;

/// What is wrong with a pattern or a rewrite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// No context accepts the pattern.
    UnparsablePattern,
    /// The pattern parses and still says nothing that can be searched for.
    InvalidPattern,
    /// A template that cannot be read.
    InvalidRewrite,
    /// A template names a variable that the pattern does not bind.
    UnknownVariable,
    /// A template writes `$X` for `$$$X`, or the reverse; or a pattern has both.
    VariableKind,
    /// A result would have a syntax error that the file did not have.
    SyntaxError,
    /// A capture would be torn apart by what stands around it, and parentheses do not help.
    Precedence,
    /// A block would be left without a statement, where the language needs one.
    EmptyBlock,
}

impl ErrorKind {
    /// The name of the cause in snake case. It never changes.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::UnparsablePattern => "unparsable_pattern",
            Self::InvalidPattern => "invalid_pattern",
            Self::InvalidRewrite => "invalid_rewrite",
            Self::UnknownVariable => "unknown_variable",
            Self::VariableKind => "variable_kind",
            Self::SyntaxError => "rewrite_syntax_error",
            Self::Precedence => "rewrite_precedence",
            Self::EmptyBlock => "rewrite_empty_block",
        }
    }
}

/// Why one context did not take a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContextFailure {
    /// The context.
    pub context: ContextName,
    /// The line of the pattern at which reading failed, from 1.
    pub line: usize,
    /// The column there, in characters from 1.
    pub column: usize,
    /// What was wrong there.
    pub reason: String,
}

impl fmt::Display for ContextFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "as {}: {}:{}: {}", self.context, self.line, self.column, self.reason)
    }
}

/// A pattern that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternError {
    kind: ErrorKind,
    message: String,
    contexts: Vec<ContextFailure>,
}

impl PatternError {
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self { kind: ErrorKind::InvalidPattern, message: message.into(), contexts: Vec::new() }
    }

    pub(crate) fn variable_kind(message: String) -> Self {
        Self { kind: ErrorKind::VariableKind, message, contexts: Vec::new() }
    }

    pub(crate) fn unparsable(message: String, contexts: Vec<ContextFailure>) -> Self {
        Self { kind: ErrorKind::UnparsablePattern, message, contexts }
    }

    /// What is wrong.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The stable name of what is wrong.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.kind.code()
    }

    /// Each context that was tried, for [`ErrorKind::UnparsablePattern`].
    #[must_use]
    pub fn contexts(&self) -> &[ContextFailure] {
        &self.contexts
    }
}

impl fmt::Display for PatternError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)?;
        for failure in &self.contexts {
            write!(formatter, "\n  {failure}")?;
        }
        Ok(())
    }
}

impl std::error::Error for PatternError {}

/// A template that cannot be used, or a result that must not be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RewriteError {
    kind: ErrorKind,
    message: String,
    line: Option<usize>,
}

impl RewriteError {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), line: None }
    }

    pub(crate) fn at_line(mut self, line: usize) -> Self {
        self.line = Some(line);
        self
    }

    /// What is wrong.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The stable name of what is wrong.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.kind.code()
    }

    /// The line of the source, from 1, whose replacement is at fault.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        self.line
    }
}

impl fmt::Display for RewriteError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(formatter, "line {line}: ")?;
        }
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for RewriteError {}

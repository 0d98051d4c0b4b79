use std::{fmt, io};

/// A result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a program was not started. The message says what to do next; [`Error::code`] is stable.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    source: Option<io::Error>,
}

/// The causes of an [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The program's path is relative: what it names would depend on the folder.
    NotAbsolute,
    /// The folder to start in does not exist.
    NoFolder,
    /// No file has the program's path, or its interpreter's.
    NotFound,
    /// The file may not be executed.
    NotExecutable,
    /// The system refused to start it for another reason; the source has it.
    StartFailed,
    /// The sandbox refused the command.
    SandboxRefused,
    /// The guard could not be started or does not listen, so nothing would clean up after a killed program.
    GuardFailed,
}

impl ErrorKind {
    /// The stable snake_case code of this cause.
    pub fn code(self) -> &'static str {
        match self {
            Self::NotAbsolute => "not_absolute",
            Self::NoFolder => "no_folder",
            Self::NotFound => "program_not_found",
            Self::NotExecutable => "not_executable",
            Self::StartFailed => "start_failed",
            Self::SandboxRefused => "sandbox_refused",
            Self::GuardFailed => "guard_failed",
        }
    }
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), source: None }
    }

    pub(crate) fn with_source(mut self, source: io::Error) -> Self {
        self.source = Some(source);
        self
    }

    /// The cause, to branch on.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The stable snake_case code of the cause.
    pub fn code(&self) -> &'static str {
        self.kind.code()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.source {
            Some(source) => write!(f, ": {source}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|source| source as _)
    }
}

use std::{fmt, io};

/// A result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a path could not be used. The message says what to do next; [`Error::code`] is stable.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    source: Option<io::Error>,
}

/// The causes of an [`Error`], one for each stable code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The path, or a link on its way, leads out of every root.
    OutsideWorkspace,
    /// Nothing has this name.
    NotFound,
    /// A fifo, a socket or a device stands where a file was asked for.
    NotAFile,
    /// A folder stands where a file was asked for.
    IsADirectory,
    /// A file stands where a folder was asked for.
    NotADirectory,
    /// The file system refused the access.
    PermissionDenied,
    /// The file has more bytes than the caller takes.
    TooLarge,
    /// Links that lead to each other.
    LinkLoop,
    /// The text is no path: a NUL byte, a URI of another scheme, a broken escape.
    InvalidPath,
    /// The text is no glob.
    InvalidGlob,
    /// The roots of a workspace cannot stand together: none, a name twice, a name with `:` or `/`.
    InvalidRoots,
    /// A text has a character that the file's encoding does not have.
    NotEncodable,
    /// A walk was stopped by its flag.
    Stopped,
    /// Any other failure of the file system; the source has it.
    Io,
}

impl ErrorKind {
    /// The stable snake_case code of this cause.
    pub fn code(self) -> &'static str {
        match self {
            Self::OutsideWorkspace => "outside_workspace",
            Self::NotFound => "not_found",
            Self::NotAFile => "not_a_file",
            Self::IsADirectory => "is_a_directory",
            Self::NotADirectory => "not_a_directory",
            Self::PermissionDenied => "permission_denied",
            Self::TooLarge => "too_large",
            Self::LinkLoop => "link_loop",
            Self::InvalidPath => "invalid_path",
            Self::InvalidGlob => "invalid_glob",
            Self::InvalidRoots => "invalid_roots",
            Self::NotEncodable => "not_encodable",
            Self::Stopped => "stopped",
            Self::Io => "io",
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

    /// What kind of cause this is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The stable snake_case code, the same as [`ErrorKind::code`].
    pub fn code(&self) -> &'static str {
        self.kind.code()
    }

    /// The sentence for the model or the person: what is wrong and what to do next.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|source| source as _)
    }
}

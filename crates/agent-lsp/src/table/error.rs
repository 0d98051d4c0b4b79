use std::fmt;

/// Why rows are no table. The message says which row and what to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableError {
    kind: TableErrorKind,
    message: String,
}

/// The causes of a [`TableError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TableErrorKind {
    /// The text is no TOML.
    Syntax,
    /// `server` is no list of tables, or a row has no id.
    Shape,
    /// A row has an unknown key, lacks one, or has one of another type.
    Row,
    /// Two full servers of one language have the same priority.
    Priority,
}

impl TableError {
    /// What kind of cause this is.
    #[must_use]
    pub fn kind(&self) -> TableErrorKind {
        self.kind
    }

    pub(super) fn syntax(error: &toml::de::Error) -> Self {
        Self {
            kind: TableErrorKind::Syntax,
            message: format!("the server table is no TOML: {error}"),
        }
    }

    pub(super) fn shape() -> Self {
        let message = "`server` is a list of tables; write `[[server]]` before each row".to_owned();
        Self { kind: TableErrorKind::Shape, message }
    }

    pub(super) fn no_id() -> Self {
        let message = "a server has no `id`; name the row that it changes, or a new one".to_owned();
        Self { kind: TableErrorKind::Shape, message }
    }

    pub(super) fn row(id: &str, error: &toml::de::Error) -> Self {
        let message = format!("the server `{id}` is not complete: {}", error.message());
        Self { kind: TableErrorKind::Row, message }
    }

    pub(super) fn empty(id: &str, key: &str) -> Self {
        let message = format!("the server `{id}` has an empty `{key}`; give it at least one entry");
        Self { kind: TableErrorKind::Row, message }
    }

    pub(super) fn same_priority(language: &str, one: &str, other: &str) -> Self {
        let message = format!(
            "the servers `{one}` and `{other}` have the same priority for {language}; give one of them another"
        );
        Self { kind: TableErrorKind::Priority, message }
    }
}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for TableError {}

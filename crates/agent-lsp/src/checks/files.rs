//! The files that a check names, as the workspace shows them, and their columns as people count them.

use std::{collections::HashMap, path::Path};

use agent_workspace::{Workspace, WorkspacePath};
use async_lsp::lsp_types::Position;

use super::Raw;
use crate::{
    diagnostic::Diagnostic,
    position::{Document, PositionEncoding},
};

pub(super) struct Files<'a> {
    workspace: &'a Workspace,
    folder: &'a WorkspacePath,
    columns: PositionEncoding,
    texts: HashMap<WorkspacePath, Option<Document>>,
}

impl<'a> Files<'a> {
    pub(super) fn new(
        workspace: &'a Workspace,
        folder: &'a WorkspacePath,
        columns: PositionEncoding,
    ) -> Self {
        Self { workspace, folder, columns, texts: HashMap::new() }
    }

    /// The diagnostic in the workspace's terms; `None` outside of it.
    pub(super) fn place(&mut self, raw: Raw) -> Option<Diagnostic> {
        let named = Path::new(&raw.file);
        let path = if named.is_absolute() {
            self.workspace.contain(named)?
        } else {
            self.folder.join(named)?
        };
        let column = self.column(&path, raw.line, raw.column);
        Some(Diagnostic {
            file: self.workspace.show(&path),
            line: raw.line,
            column,
            severity: raw.severity,
            code: raw.code,
            message: raw.message,
            source: None,
            end_line: raw.end_line,
        })
    }

    fn column(&mut self, path: &WorkspacePath, line: usize, column: usize) -> usize {
        if self.columns == PositionEncoding::Utf32 {
            return column;
        }
        let workspace = self.workspace;
        let text = self.texts.entry(path.clone()).or_insert_with(|| {
            let content = workspace.read(path).ok()?;
            Some(Document::decode(&content.bytes))
        });
        let number = |value: usize| u32::try_from(value.saturating_sub(1)).unwrap_or(u32::MAX);
        match text {
            Some(text) if text.line(line).is_some() => {
                text.place_of(Position::new(number(line), number(column)), self.columns).column
            }
            _ => column,
        }
    }
}

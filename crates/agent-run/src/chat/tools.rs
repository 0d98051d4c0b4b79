//! The tools as a person is told of them: what a model reads of them is longer.

use agent_tool_core::ToolSpec;

/// What each tool does, in a sentence.
const SENTENCES: [(&str, &str); 18] = [
    ("read", "reads a file"),
    ("write", "writes a file"),
    ("edit", "replaces a text in a file"),
    ("apply_patch", "applies a patch to files"),
    ("search", "searches files for a pattern"),
    ("shell", "runs a command"),
    ("ast_grep", "finds code by its structure"),
    ("ast_edit", "proposes a rewrite of code by its structure"),
    ("resolve", "applies or discards a proposed rewrite"),
    ("lsp", "asks a language server: definitions, uses, diagnostics"),
    ("lsp_rename", "renames a symbol in the whole project"),
    ("debug", "drives a debugger"),
    ("eval", "runs a cell of Python or JavaScript"),
    ("ask_user", "asks you a question"),
    ("vibe_spawn", "gives a task to a worker in the background"),
    ("vibe_send", "tells a worker more"),
    ("vibe_wait", "waits for a worker"),
    ("vibe_kill", "stops a worker"),
];

/// What a tool does. Of one that is not known here it is the first sentence for the model.
pub(super) fn sentence(spec: &ToolSpec) -> String {
    if let Some((_, sentence)) = SENTENCES.iter().find(|(name, _)| *name == spec.name) {
        return (*sentence).to_owned();
    }
    let line = spec.description.lines().next().unwrap_or_default();
    match line.split_once(". ") {
        Some((sentence, _)) => sentence.to_owned(),
        None => line.trim_end_matches('.').to_owned(),
    }
}

//! Names and characters that are easily mistaken: of a root, and before a symbol.

use agent_lsp::table::Trust;

use crate::{servers::Live, session::Session};

/// Blanks, what URIs escape or cut at, and a character beyond ASCII.
const STRANGE: &str = "a shop #%41[é]";

// report: D28
pub(crate) async fn a_root_with_a_strange_name(live: &'static Live) {
    let session = Session::at(live, STRANGE, Trust::Trusted);
    let language = live.language;
    let at = (language.main, language.uses);
    let definition = session.ask("definition", at, language.function).await;
    let file = definition["locations"][0]["file"].as_str().unwrap();
    assert!(language.declared.iter().any(|(declared, _)| *declared == file), "{definition:#}");

    let line = session.line(at);
    session.edit(&language.breaks).await.assert(&[(language.main, line)], &[], "dirty");
    session.undo(&language.breaks).await.assert(&[], &[(language.main, line)], "clean");
}

// report: D27
pub(crate) async fn characters_before_the_symbol(live: &'static Live) {
    let session = Session::new(live);
    let language = live.language;
    let at = language.after_emoji;
    let definition = session.ask("definition", at, language.function).await;
    let column = session.column(at, language.function);
    assert_eq!(definition["resolved"]["column"], column, "{definition:#}");
    let file = definition["locations"][0]["file"].as_str().unwrap();
    assert!(language.declared.iter().any(|(declared, _)| *declared == file), "{definition:#}");

    let uses = session.ask("references", at, language.function).await;
    let line = session.line(at);
    let here = uses["locations"]
        .as_array()
        .unwrap()
        .iter()
        .find(|location| location["file"] == at.0 && location["line"] == line);
    assert_eq!(here.unwrap()["column"], column, "{uses:#}");
}

//! What is asked: places, words, uses, symbols, fixes.

use serde_json::{Value, json};

use crate::{languages::At, servers::Live, session::Session};

// spec: LSP-02, LSP-03, LSP-06, LSP-08
pub(crate) async fn places_and_words_of_a_symbol(live: &'static Live) {
    let session = Session::new(live);
    let language = live.language;
    let at = (language.main, language.uses);

    let hover = session.ask_until_read("hover", at, language.function).await;
    assert_eq!(hover["evidence"], "confirmed", "{hover:#}");
    let contents = hover["contents"].as_str().unwrap();
    assert!(contents.contains(language.function), "{contents}");
    assert!(contents.contains(language.documented), "{contents}");

    let definition = session.ask_until_read("definition", at, language.function).await;
    assert_eq!(
        definition["resolved"],
        json!({
            "file": language.main,
            "line": session.line(at),
            "column": session.column(at, language.function),
            "occurrence": 1,
            // In code and in the comment.
            "of": 2,
        }),
    );
    assert_eq!(definition["evidence"], "confirmed");
    let declared: Vec<_> = language.declared.iter().map(|at| place(&session, *at)).collect();
    let found = places(&definition);
    assert!(found.iter().any(|found| declared.contains(found)), "{found:?}, not {declared:?}");

    let (variable, its_type) = language.variable;
    let types = session.ask("type_definition", at, variable).await;
    assert_eq!(places(&types), [place(&session, its_type)], "{types:#}");

    let (asked, name, done) = language.implemented;
    let found = session.ask("implementation", asked, name).await;
    assert!(places(&found).contains(&place(&session, done)), "{found:#}");
}

// spec: LSP-07
// report: D17
pub(crate) async fn every_use_is_named(live: &'static Live) {
    let session = Session::new(live);
    let language = live.language;
    let found = session
        .ask_until_read("references", (language.main, language.uses), language.function)
        .await;
    let mut expected: Vec<_> = language.references.iter().map(|at| place(&session, *at)).collect();
    expected.sort();
    assert_eq!(places(&found), expected, "{found:#}");
    assert_eq!(found["total"], expected.len());
    assert_eq!(found["evidence"], "confirmed");
    for location in found["locations"].as_array().unwrap() {
        let text = location["text"].as_str().unwrap();
        assert!(text.contains(language.function), "{location:#}");
    }
}

// spec: LSP-09
pub(crate) async fn symbols_of_a_file_and_of_the_workspace(live: &'static Live) {
    let session = Session::new(live);
    let language = live.language;
    let (library, names) = language.library;

    let args = json!({ "action": "symbols", "file": library });
    let symbols = session.call(args).await.unwrap().data;
    let found: Vec<_> = symbols["symbols"].as_array().unwrap().iter().collect();
    for name in names {
        let is_it = |symbol: &&Value| {
            let shown = symbol["name"].as_str().unwrap();
            symbol["file"] == library && shown.split(['(', '.']).any(|part| part == *name)
        };
        assert!(found.iter().copied().any(|symbol| is_it(&symbol)), "no {name}: {symbols:#}");
    }
    let function =
        found.iter().find(|symbol| symbol["name"].as_str().unwrap().starts_with(language.function));
    let function = function.unwrap();
    let declared = language.declared.iter().find(|(file, _)| *file == library).unwrap();
    assert_eq!(function["line"], session.line(*declared), "{function:#}");
    assert_eq!(function["kind"], "function");

    let args = json!({ "action": "symbols", "query": language.function });
    let symbols = session.call(args).await.unwrap().data;
    let first = &symbols["symbols"][0];
    assert!(first["name"].as_str().unwrap().contains(language.function), "{symbols:#}");
    let declared: Vec<_> = language.declared.iter().map(|at| place(&session, *at)).collect();
    let place = (first["file"].as_str().unwrap().to_owned(), number(&first["line"]));
    assert!(declared.contains(&place), "{symbols:#}");
}

// spec: LSP-10
pub(crate) async fn quick_fixes_are_listed(live: &'static Live) {
    let session = Session::new(live);
    let Live { language, fix, .. } = live;
    session.edit(&language.breaks).await;
    let broken = (language.main, language.breaks.to);
    let symbol = language.function;
    let actions = session.ask("code_actions", broken, symbol).await;
    let titles: Vec<_> = actions["actions"].as_array().unwrap().iter().collect();
    match fix {
        Some(fix) => {
            let is_it = |action: &&&Value| action["title"].as_str().unwrap().contains(fix);
            assert!(titles.iter().find(is_it).is_some(), "no {fix:?}: {actions:#}");
        }
        None => assert_eq!(titles, Vec::<&Value>::new(), "{actions:#}"),
    }
    let text = session.read(language.main);
    assert!(text.contains(language.breaks.to), "a fix that was listed was applied: {text}");
}

fn place(session: &Session, at: At) -> (String, usize) {
    (at.0.to_owned(), session.line(at))
}

fn places(found: &Value) -> Vec<(String, usize)> {
    let locations = found["locations"].as_array().unwrap().iter();
    locations.map(|at| (at["file"].as_str().unwrap().to_owned(), number(&at["line"]))).collect()
}

fn number(value: &Value) -> usize {
    usize::try_from(value.as_u64().unwrap()).unwrap()
}

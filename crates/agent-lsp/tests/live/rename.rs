//! `lsp_rename`: from a use, in every file, and back again.

use std::collections::BTreeMap;

use serde_json::json;

use crate::{languages::At, servers::Live, session::Session};

// spec: LSP-15
// report: D21, D22, D23, D33
pub(crate) async fn every_use_is_renamed_and_back(live: &'static Live) {
    let session = Session::new(live);
    let language = live.language;
    let (old, new) = (language.function, language.renamed);
    let before = texts(&session);

    let at: At = (language.main, language.uses);
    let renamed = session.rename(at, old, new).await;
    let expected = language.references.len() + live.renames_in_comments;
    assert_eq!(renamed["renamed"], expected, "{renamed:#}");
    let after = texts(&session);
    for (file, part) in language.references {
        let part = part.replace(old, new);
        assert!(after[*file].contains(&part), "{file} has no {part:?}: {}", after[*file]);
    }
    let comment = format!("the {old} with shipping");
    assert!(after[language.main].contains(&comment), "a comment is not renamed");
    let leftovers = renamed["leftovers"].as_array().unwrap();
    let in_comment = |left: &&serde_json::Value| left["file"] == language.main;
    assert!(leftovers.iter().any(|left| in_comment(&left)), "{renamed:#}");
    let clean = session.diagnostics(language.main).await;
    assert_eq!(clean["state"], "clean", "{clean:#}");

    let part = language.uses.replace(old, new);
    let line = session.line((language.main, &part));
    let args = json!({ "file": language.main, "line": line, "symbol": new, "new_name": old });
    session.call_rename(args).await.unwrap();
    assert_eq!(texts(&session), before);
}

/// An alias whose name begins that of what it stands for is renamed where it stands, from its import and from a use.
// spec: LSP-15
pub(crate) async fn an_alias_is_renamed_where_it_stands(live: &'static Live) {
    let language = live.language;
    let (file, text) = match language.folder {
        "python" => (
            "shop/short.py",
            "from shop.order import Order, total as tot\n\n\ndef due(order: Order) -> int:\n    return tot(order)\n",
        ),
        "typescript" => (
            "src/short.ts",
            "import { Order, total as tot } from \"./order\";\n\nexport const due = (order: Order) => tot(order);\n",
        ),
        "rust" => (
            "src/report.rs",
            "use crate::order::{Order, total as tot};\n\npub fn summary(order: &Order) -> String {\n    tot(order).to_string()\n}\n",
        ),
        other => panic!("{other} has no such alias here"),
    };
    for part in ["total as tot", "tot(order)"] {
        let session = Session::new(live);
        session.put(file, text);
        let line = session.line((file, part));
        let args = json!({ "file": file, "line": line, "symbol": "tot", "new_name": "sum" });
        let renamed = session.call_rename(args).await;
        if language.folder == "rust" {
            // The server itself takes none, and that is what is told.
            let error = renamed.unwrap_err();
            assert_eq!(error.code, "cannot_rename", "{error}");
            assert!(error.message.contains("aliases is currently unsupported"), "{error}");
            assert_eq!(session.read(file), text);
            continue;
        }
        let renamed = renamed.unwrap();
        let told = renamed.joined_text();
        assert_eq!(renamed.data["files"], json!([{ "file": file, "edits": 2 }]), "{told}");
        let expected = text.replace("as tot", "as sum").replace("tot(", "sum(");
        assert_eq!(session.read(file), expected, "{told}");
        assert!(
            told.contains("all 2 references that the server lists by this name are among these"),
            "{told}"
        );
    }
}

/// From the definition, from the place where it is exported again, and from a use behind that.
// spec: LSP-15
pub(crate) async fn a_rename_goes_through_what_is_exported_again(live: &'static Live) {
    let files = [
        ("src/deep.ts", "export function weigh(n: number): number {\n  return n;\n}\n"),
        (
            "src/barrel.ts",
            "export { weigh } from \"./deep\";\nexport { weigh as heavy } from \"./deep\";\n",
        ),
        ("src/index.ts", "export { weigh } from \"./barrel\";\n"),
        (
            "src/far.ts",
            "import { weigh } from \"./index\";\n\nexport const all = { weigh, more: weigh(2) };\n",
        ),
    ];
    for from in [("src/deep.ts", 1), ("src/barrel.ts", 1), ("src/far.ts", 1)] {
        let session = Session::new(live);
        files.iter().for_each(|(file, text)| session.put(file, text));
        let args =
            json!({ "file": from.0, "line": from.1, "symbol": "weigh", "new_name": "measure" });
        let renamed =
            session.call_rename(args).await.unwrap_or_else(|error| panic!("{from:?}: {error}"));
        let told = renamed.joined_text();
        for (file, text) in files {
            // A property keeps its name: it is another symbol.
            let expected = text
                .replace("weigh", "measure")
                .replace("{ measure, more", "{ weigh: measure, more");
            assert_eq!(session.read(file), expected, "{from:?} {told}");
        }
        let exported = "exported again and renamed there too at src/barrel.ts:1, src/index.ts:1: ";
        assert!(told.contains(exported), "{told}");
    }
}

/// Where it makes two names of one, which a rename cannot follow.
// spec: LSP-15
pub(crate) async fn what_keeps_the_old_name_is_said(live: &'static Live) {
    let session = Session::new(live);
    session.put(
        "src/pick.ts",
        "const { weight } = { weight: 1 };\nexport const twice = weight * 2;\n",
    );
    let args =
        json!({ "file": "src/pick.ts", "line": 1, "symbol": "weight#1", "new_name": "mass" });
    let error = session.call_rename(args).await.unwrap_err();
    assert_eq!(error.code, "partial_rename", "{error}");
    assert!(error.message.contains("waiting changes nothing, for the server keeps `weight` as a name of its own at\n  src/pick.ts:1:9: const { weight }"), "{error}");
    assert!(!error.message.contains("where the symbol is defined"), "{error}");
}

// spec: LSP-15
pub(crate) async fn a_name_that_is_none_changes_nothing(live: &'static Live) {
    let session = Session::new(live);
    let language = live.language;
    let before = texts(&session);
    let line = session.line((language.main, language.uses));
    let args = json!({
        "file": language.main, "line": line, "symbol": language.function, "new_name": "not valid!",
    });
    let error = session.call_rename(args).await.unwrap_err();
    assert_eq!(error.code, "invalid_name", "{error}");
    assert_eq!(texts(&session), before);
}

/// The files that use the function.
fn texts(session: &Session) -> BTreeMap<&'static str, String> {
    let files = session.language.references.iter().map(|(file, _)| *file);
    files.map(|file| (file, session.read(file))).collect()
}

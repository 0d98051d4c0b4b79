//! What an interpreter adds: data that stays, tables and figures that are seen, the other tools from a cell.

use std::{fs, process::Command};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::{host::Host, page::Page};

/// The cells, each with the words that a person reads.
const COUNT: &str = "import pandas as pd
hits = tool.data('search', {'pattern': 'print'})['matches']
counts = pd.Series([hit['file'] for hit in hits]).value_counts().rename_axis('file').reset_index(name='hits')
counts.head()";

const DRAW: &str = "import matplotlib.pyplot as plt
fig, ax = plt.subplots(figsize=(4, 2))
ax.barh(counts['file'], counts['hits']); ax.set_xlabel('hits of `print`')
None";

const SCRIPT: &str = "const names = ['a', 'b']
const again = await tool('search', { pattern: 'print' })
;[names.length, again.length > 0]";

pub fn cells(host: &mut Host, page: &mut Page) -> Result<()> {
    page.chapter("Cells whose variables stay, and that call the other tools");
    let table = eval(host, page, COUNT, "count the hits of a search by file")?;
    page.check(
        table["data"]["result"]["text/html"].as_str().is_some_and(|html| html.contains("<table")),
        "a cell called `search` and showed a table: HTML for the transcript, text for the model",
    );
    page.check(
        table["data"]["state"] == "new",
        "it ran in a new interpreter, and its label says which",
    );
    let figure = eval(host, page, DRAW, "draw the counts as bars")?;
    let image =
        figure["parts"].as_array().into_iter().flatten().find(|part| part["type"] == "image");
    let image = image.context("a figure")?;
    let file = save(image)?;
    page.line(&format!("the figure is in {file}"));
    page.check(
        figure["data"]["state"] == "kept" && image["mime"] == "image/png",
        "the variable of the first cell was there for the second, and the figure came back as an image",
    );
    let failed = eval(host, page, "counts['no such column']", "ask for what is not there")?;
    page.check(
        failed["ok"] == true && failed["data"]["error"]["name"] == "KeyError",
        "a failing cell is an answer, with the cell's own traceback",
    );
    let args = json!({"code": SCRIPT, "description": "the same from JavaScript", "language": "javascript"});
    let script = host.call(page, "eval", args)?;
    page.check(
        script["data"]["result"]["text/plain"] == "[ 2, true ]",
        "JavaScript has top-level await, and the same tools",
    );
    let nested = eval(
        host,
        page,
        "try:\n    tool('eval', {'code': '1', 'description': 'one more'})\nexcept ToolError as e:\n    print(e.kind)",
        "call eval from a cell",
    )?;
    page.check(
        nested["data"]["stdout"] == "conflict\n",
        "a cell cannot wait for itself: a conflict, at once",
    );
    Ok(())
}

fn eval(host: &mut Host, page: &mut Page, code: &str, description: &str) -> Result<Value> {
    host.call(page, "eval", json!({"code": code, "description": description}))
}

/// Writes the image into a file. The system's own `base64` decodes it, so that this program needs no crate for it.
fn save(image: &Value) -> Result<String> {
    let folder = std::env::temp_dir();
    let encoded = folder.join(format!("agent-run-tour-{}.base64", std::process::id()));
    let file = folder.join("agent-run-tour-figure.png");
    fs::write(&encoded, image["base64"].as_str().context("base64")?)?;
    let decoded = Command::new("base64").arg("-d").arg(&encoded).output()?;
    fs::remove_file(&encoded)?;
    fs::write(&file, decoded.stdout)?;
    Ok(file.display().to_string())
}

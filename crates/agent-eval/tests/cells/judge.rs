//! Holds what a cell came to against what its case expects. It knows JSON alone, so that `cargo xtask fixtures --cells` judges
//! a built program by the same rules.

use std::collections::BTreeSet;

use regex::Regex;
use serde_json::Value;

/// What is wrong with the data of the last cell; empty where all is right.
pub(crate) fn judge(expect: &Value, max_ms: Option<u64>, data: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    let mut fault = |what: &str, got: &dyn std::fmt::Debug| faults.push(format!("{what}: {got:?}"));
    let text =
        |path: &str| data.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();

    let status = status(data);
    let wanted = expect["status"].as_str().unwrap_or("ok");
    if !wanted.split('|').any(|wanted| wanted == status) {
        fault(&format!("status is not {wanted}"), &(status, &data["error"], &data["died"]));
    }
    let stdout = text("/stdout").replace("\r\n", "\n");
    let result = data.pointer("/result/text~1plain").and_then(Value::as_str);
    let traceback: Vec<&str> = data
        .pointer("/error/traceback")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let traceback = without_colours(&traceback.join("\n"));
    let everything = format!("{}{stdout}{}", text("/pager"), result.unwrap_or_default());

    if let Some(wanted) = expect.get("result")
        && wanted.as_str() != result
    {
        fault(&format!("result is not {wanted}"), &result);
    }
    if let Some(wanted) = expect["result_any"].as_array()
        && !wanted.iter().any(|wanted| wanted.as_str() == result)
    {
        fault("result is none of those", &result);
    }
    if let Some(wanted) = expect["stdout"].as_str()
        && wanted != stdout
    {
        fault("stdout", &stdout);
    }
    if let Some(wanted) = expect["stdout_any"].as_array()
        && !wanted.iter().any(|wanted| wanted.as_str() == Some(&stdout))
    {
        fault("stdout is none of those", &stdout);
    }
    if let Some(wanted) = expect["ename"].as_str()
        && wanted != text("/error/name")
    {
        fault("error.name", &text("/error/name"));
    }
    let patterns = [
        ("result_re", result.unwrap_or_default().to_owned()),
        ("stdout_re", stdout.clone()),
        ("stderr_re", text("/stderr")),
        ("evalue_re", text("/error/value")),
        ("tb_re", traceback.clone()),
        ("text_re", without_colours(&everything)),
        ("died_re", text("/died")),
    ];
    for (name, got) in &patterns {
        if let Some(pattern) = expect[*name].as_str()
            && !matches(pattern, got)
        {
            fault(&format!("{name} {pattern:?} does not match"), &clipped(got));
        }
    }
    for (name, got) in [("stderr_not_re", text("/stderr")), ("tb_not_re", traceback.clone())] {
        if let Some(pattern) = expect[name].as_str()
            && matches(pattern, &got)
        {
            fault(&format!("{name} {pattern:?} matches"), &clipped(&got));
        }
    }
    if let Some(wanted) = expect["mimes"].as_array()
        && !holds(&data["result"], wanted)
    {
        fault("mimes of the result", &mimes(&data["result"]));
    }
    if let Some(wanted) = expect["displays"].as_array() {
        let shown = data["displays"].as_array().cloned().unwrap_or_default();
        let each = wanted.iter().zip(&shown);
        let fits = each
            .into_iter()
            .all(|(wanted, shown)| holds(shown, wanted.as_array().map_or(&[], Vec::as_slice)));
        if wanted.len() != shown.len() || !fits {
            fault("displays", &shown.iter().map(mimes).collect::<Vec<_>>());
        }
    }
    let sizes = [
        ("max_stdout", stdout.chars().count() as u64),
        ("max_result", result.unwrap_or_default().chars().count() as u64),
        ("tb_max_lines", traceback.lines().count() as u64),
        ("max_ms", data["duration_ms"].as_u64().unwrap_or_default()),
    ];
    for (name, got) in sizes {
        let most = expect[name].as_u64().or(max_ms.filter(|_| name == "max_ms"));
        if most.is_some_and(|most| got > most) {
            fault(&format!("{name} is {most:?}"), &got);
        }
    }
    faults
}

/// `error` covers what was stopped with its variables kept, `died` what lost them.
fn status(data: &Value) -> &str {
    match (data["status"].as_str().unwrap_or_default(), data["state"].as_str().unwrap_or_default())
    {
        ("died", _) | ("interrupted" | "timed_out", "gone") => "died",
        ("interrupted" | "timed_out", _) => "error",
        (other, _) => other,
    }
}

fn matches(pattern: &str, text: &str) -> bool {
    Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(text))
}

fn mimes(bundle: &Value) -> BTreeSet<String> {
    bundle.as_object().into_iter().flatten().map(|(mime, _)| mime.clone()).collect()
}

fn holds(bundle: &Value, wanted: &[Value]) -> bool {
    let mimes = mimes(bundle);
    wanted.iter().filter_map(Value::as_str).all(|wanted| mimes.contains(wanted))
}

fn without_colours(text: &str) -> String {
    Regex::new("\u{1b}\\[[0-9;]*m")
        .map_or_else(|_| text.to_owned(), |colour| colour.replace_all(text, "").into_owned())
}

fn clipped(text: &str) -> String {
    text.chars().rev().take(300).collect::<Vec<_>>().into_iter().rev().collect()
}

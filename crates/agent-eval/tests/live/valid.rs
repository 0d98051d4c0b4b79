//! The rewriting on real source: what is Python stays, what is spliced in becomes what IPython makes of it.

use std::{
    borrow::Cow,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use agent_eval::rewrite::rewrite;
use serde_json::Value;

use crate::session::python;

/// How many files IPython is asked about: it takes its time.
const SPLICED: usize = 250;

fn ask(arguments: &[&str], input: &Value) -> Value {
    let mut asked = Command::new(python())
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = asked.stdin.take().unwrap();
    let input = serde_json::to_vec(input).unwrap();
    let writing = std::thread::spawn(move || pipe.write_all(&input));
    let output = asked.wait_with_output().unwrap();
    writing.join().unwrap().unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The Python files of the standard library and of what is installed.
fn corpus() -> Vec<PathBuf> {
    let code = "import json, sysconfig; p = sysconfig.get_paths(); print(json.dumps([p['stdlib'], p['purelib']]))";
    let folders = ask(&["-c", code], &Value::Null);
    let mut files = Vec::new();
    for folder in folders.as_array().unwrap() {
        gather(Path::new(folder.as_str().unwrap()), &mut files);
    }
    files.sort();
    files.dedup();
    files
}

fn gather(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            gather(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "py") {
            files.push(path);
        }
    }
}

// spec: EVAL-05
pub(crate) async fn valid_python_is_never_changed() {
    let mut bytes = 0;
    let mut changed = Vec::new();
    for path in corpus() {
        let Ok(text) = fs::read_to_string(&path) else { continue };
        // Files for tests of the parser are no Python, and line ends of another system are mended.
        if text.contains('\r') || path.to_string_lossy().contains("/lib2to3/tests/") {
            continue;
        }
        bytes += text.len();
        if let Cow::Owned(_) = rewrite(&text) {
            changed.push(path);
        }
    }
    assert!(bytes > 50 << 20, "{bytes} bytes are no corpus");
    let code = "import ast, json, sys\nok = []\nfor p in json.load(sys.stdin):\n    try: ast.parse(open(p, encoding='utf-8').read()); ok.append(p)\n    except SyntaxError: pass\nprint(json.dumps(ok))";
    let valid = ask(&["-W", "ignore", "-c", code], &serde_json::to_value(&changed).unwrap());
    assert_eq!(valid, Value::Array(Vec::new()), "valid Python that was changed");
}

// spec: EVAL-05
pub(crate) async fn spliced_idioms_become_what_ipython_makes_of_them() {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/live/splice.py");
    let script = script.to_str().unwrap();
    let files = corpus();
    let some: Vec<_> = files.iter().step_by((files.len() / (SPLICED * 2)).max(1)).collect();
    let spliced = ask(&["-W", "ignore", script, "splice"], &serde_json::to_value(some).unwrap());
    let pairs: Vec<(String, String)> = spliced
        .as_array()
        .unwrap()
        .iter()
        .take(SPLICED)
        .map(|source| source.as_str().unwrap())
        .map(|source| (source.to_owned(), rewrite(source).into_owned()))
        .collect();
    assert!(pairs.len() > 100, "{}", pairs.len());
    let shapes = ask(&["-W", "ignore", script, "compare"], &serde_json::to_value(&pairs).unwrap());
    for (shape, (source, ours)) in shapes.as_array().unwrap().iter().zip(&pairs) {
        assert_eq!(source.split('\n').count(), ours.split('\n').count(), "lines stay");
        if !shape[0].is_null() {
            let (theirs, ours) =
                (shape[0].as_str().unwrap(), shape[1].as_str().unwrap_or("no Python"));
            let at = theirs
                .bytes()
                .zip(ours.bytes())
                .take_while(|(a, b)| a == b)
                .count()
                .saturating_sub(60);
            let near = |text: &str| text.chars().skip(at).take(200).collect::<String>();
            assert!(theirs == ours, "IPython: {}\nours:    {}\n{source}", near(theirs), near(ours));
        }
    }
}

//! What libraries show, with the libraries as they are.

use agent_eval::outcome::{Outcome, Shown, Status};
use agent_tool_core::Part;
use serde_json::{Value, json};

use crate::session::{Session, python, result};

/// The MIME types of each display, sorted.
fn mimes(outcome: &Outcome) -> Vec<Vec<String>> {
    let displays = outcome.shown.iter().filter_map(|shown| match shown {
        Shown::Display(bundle) => Some(bundle.keys().cloned().collect::<Vec<_>>()),
        _ => None,
    });
    displays
        .map(|mut mimes| {
            mimes.sort();
            mimes
        })
        .collect()
}

// spec: EVAL-04
pub(crate) async fn figures_are_shown_once_also_after_an_error() {
    let session = Session::new();
    let png = ["image/png".to_owned(), "text/plain".to_owned()].to_vec();
    let failed = session
        .run(
            "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nraise ValueError('after the plot')",
        )
        .await;
    assert_eq!((failed.status, mimes(&failed)), (Status::Error, vec![png.clone()]));
    assert_eq!(mimes(&session.run("1").await), Vec::<Vec<String>>::new(), "and not again");
    let shown =
        session.run("fig, ax = plt.subplots(); ax.plot([1]); plt.show(); display(fig)").await;
    assert_eq!(mimes(&shown).len(), 2, "shown, and displayed by itself");
    let args = json!({"code": "plt.plot([3, 1])", "description": "draw a line"});
    let output = session.tool(args).await.unwrap();
    let images = output
        .parts
        .iter()
        .filter(|part| matches!(part, Part::Image { mime, .. } if mime == "image/png"));
    assert_eq!(images.count(), 1, "an image that the model sees: {:?}", output.joined_text());
}

pub(crate) async fn images_of_each_kind_are_image_parts() {
    let session = Session::new();
    let code = "from PIL import Image\nimport io\nclass Jpeg:\n    def _repr_jpeg_(self):\n        b = io.BytesIO(); Image.new('RGB', (8, 8), 'red').save(b, 'jpeg'); return b.getvalue()\nclass Svg:\n    def _repr_svg_(self): return '<svg xmlns=\"http://www.w3.org/2000/svg\"/>'\ndisplay(Jpeg(), Svg())\nImage.new('RGB', (8, 8), 'blue')";
    let output = session.tool(json!({"code": code, "description": "three images"})).await.unwrap();
    let kinds: Vec<_> = output
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::Image { mime, .. } => Some(mime.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(kinds, ["image/jpeg", "image/svg+xml", "image/png"]);
}

// spec: EVAL-04
pub(crate) async fn tables_are_bounded_and_the_model_gets_text() {
    let session = Session::new();
    for library in ["pandas", "polars"] {
        let code =
            format!("import {library} as lib\nlib.DataFrame({{'number': list(range(100_000))}})");
        let output =
            session.tool(json!({"code": code, "description": "a long table"})).await.unwrap();
        let html = output.data["result"]["text/html"].as_str().unwrap();
        assert!(
            html.contains("<table") && html.len() < 40_000,
            "{library}: {} bytes of html",
            html.len()
        );
        let text = output.joined_text();
        assert!(
            text.contains("number") && !text.contains("<table") && text.len() < 8_000,
            "{library}: {text}"
        );
    }
}

pub(crate) async fn charts_come_as_bundles() {
    let session = Session::new();
    let plotly = session
        .run("import plotly.graph_objects as go\nfig = go.Figure(go.Bar(y=[1, 2]))\nfig.show()")
        .await;
    assert_eq!(mimes(&plotly)[0][0], "application/vnd.plotly.v1+json", "{plotly:#?}");
    let altair = session.run("import altair as alt, pandas as pd\nalt.Chart(pd.DataFrame({'a': [1]})).mark_bar().encode(x='a')").await;
    let html = altair.result().unwrap()["text/html"].as_str().unwrap();
    assert!(html.contains("vega.github.io/schema/vega-lite"), "{html}");
    let progress = session.run("from tqdm.auto import tqdm\nfor _ in tqdm(range(500)): pass").await;
    let shown = progress.data()["stderr"].as_str().unwrap().to_owned();
    assert!(shown.contains("500/500") && shown.matches("it/s").count() <= 1, "{shown:?}");
}

pub(crate) async fn a_display_is_updated_and_cleared() {
    let session = Session::new();
    let code = "from IPython.display import display as d, clear_output\nh = d('first', display_id='x')\nprint('kept')\nh.update('second')";
    let updated = session.run(code).await;
    let texts: Vec<_> = updated.data()["displays"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["text/plain"].clone())
        .collect();
    assert_eq!(texts, [json!("'second'")]);
    let cleared = session.run("print('old'); clear_output(wait=True); print('new')").await;
    assert_eq!(cleared.stdout(), "new\n");
}

// spec: EVAL-06
pub(crate) async fn packages_that_are_upgraded_are_imported_anew() {
    let folder = tempfile::tempdir().unwrap();
    let environment = folder.path().join("environment");
    let made = std::process::Command::new(python())
        .args(["-m", "venv"])
        .arg(&environment)
        .status()
        .unwrap();
    assert!(made.success());
    let session =
        Session::with(|builder| builder.virtual_env(Some(environment)).env("PIP_NO_INDEX", "1"));
    let make = "
import zipfile, os
def wheel(version, module='one_mod', name='other-name', extra=()):
    path = f'{name.replace(\"-\", \"_\")}-{version}-py3-none-any.whl'
    info = f'{name.replace(\"-\", \"_\")}-{version}.dist-info'
    with zipfile.ZipFile(path, 'w') as z:
        z.writestr(f'{module}/__init__.py', f'from .sub import v')
        z.writestr(f'{module}/sub.py', f'v = {version!r}')
        for n, t in extra: z.writestr(n, t)
        z.writestr(f'{info}/METADATA', f'Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n')
        z.writestr(f'{info}/WHEEL', 'Wheel-Version: 1.0\\nGenerator: t\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
        z.writestr(f'{info}/RECORD', f'{module}/__init__.py,,\\n{module}/sub.py,,\\n{info}/METADATA,,\\n{info}/WHEEL,,\\n{info}/RECORD,,\\n')
    return os.path.abspath(path)
one, two = wheel('1.0'), wheel('2.0')";
    session.run(make).await;
    let installed = session.run("%pip install -q {one}").await;
    assert_eq!(installed.status, Status::Ok, "{installed:#?}");
    assert_eq!(session.value("import one_mod, json\nbefore = id(json)\none_mod.v").await, "'1.0'");
    let upgraded = session.run("%pip install -q {two}").await;
    assert!(upgraded.stdout().contains("imports of other-name are forgotten"), "{upgraded:#?}");
    assert_eq!(
        session.value("import one_mod, json\n(one_mod.v, id(json) == before)").await,
        "('2.0', True)"
    );

    // One whose loaded part is an extension stays, and that is said.
    session
        .run("import one_mod.sub, sys\nsys.modules['one_mod.sub'].__file__ = '/x/one_mod/sub.so'")
        .await;
    let stuck = session.run("!pip install -q {one}").await;
    assert!(
        stuck.stdout().contains("other-name changed on disk") && stuck.stdout().contains("reset"),
        "{stuck:#?}"
    );
    assert_eq!(session.value("import one_mod; one_mod.v").await, "'2.0'");
    let fresh = session.cell(agent_eval::Cell::new("import one_mod; one_mod.v").reset()).await;
    assert_eq!(result(&fresh), "'1.0'");
    let _: Value = fresh.data();
}

pub(crate) async fn what_is_left_out_is_counted_in_all() {
    let session = Session::new();
    for (language, code, said) in [
        (
            "python",
            "print('x' * 10_000_000, end='')",
            "[left out: 315680 characters and 9672320 bytes of standard output]",
        ),
        ("python", "'é' * 5_000_000", "[left out: 4992002 characters of values]"),
        (
            "python",
            "display({'text/plain': 'x' * 9_000}, raw=True)",
            "[left out: 1000 characters of values]",
        ),
        ("javascript", "'é'.repeat(5_000_000)", "[left out: 4992002 characters of values]"),
    ] {
        let args = json!({"code": code, "description": "a long one", "language": language});
        let output = session.tool(args).await.unwrap();
        let text = output.joined_text();
        assert!(text.ends_with(said), "{code}: {}", &text[text.len().saturating_sub(200)..]);
        assert_eq!(output.data["truncated"], true, "{code}");
    }
    let whole =
        session.tool(json!({"code": "'x' * 100", "description": "a short one"})).await.unwrap();
    assert_eq!(whole.data["truncated"], false);
    assert!(!whole.joined_text().contains("left out"));
}

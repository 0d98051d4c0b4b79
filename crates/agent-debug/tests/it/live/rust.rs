use serde_json::{Value, json};

use super::{children, locals, value, values};
use crate::support::{Checkout, block_on, line, program, search_path};

fn checkout() -> (Checkout, String) {
    let text = program("rust/src/main.rs");
    let files = [("src/main.rs", text.as_str()), ("Cargo.toml", &program("rust/Cargo.toml"))];
    let checkout = Checkout::new(files, &search_path());
    let name = ["--crate-name", "sample", "--edition", "2024", "-o", "sample"];
    checkout.build(&[&["rustc", "-g", "src/main.rs"][..], &name].concat());
    (checkout, text)
}

async fn launch(checkout: &Checkout, mode: &str) -> Value {
    checkout.data(json!({"op": "launch", "program": "sample", "args": [mode]})).await
}

async fn stop_at(checkout: &Checkout, text: &str, mode: &str, mark: &str) -> Value {
    let lines = [line(text, mark)];
    checkout.data(json!({"op": "breakpoints", "file": "src/main.rs", "lines": lines})).await;
    let stop = launch(checkout, mode).await;
    assert_eq!(stop["state"], "stopped", "{stop}");
    assert_eq!(stop["frame"]["line"], lines[0], "{stop}");
    stop
}

pub(crate) fn a_panic_stops_a_program_and_comes_back_in_one_call() {
    block_on(async {
        let (checkout, text) = checkout();
        let args = json!({"op": "launch", "program": "sample", "args": ["crash"]});
        let output = checkout.call(args).await.unwrap();
        let stop = &output.data;
        let called =
            format!("called by src/main.rs:{} in sample::crash | v[std", line(&text, "crash"));
        assert!(output.joined_text().contains(&called), "{}", output.joined_text());
        assert_eq!(
            (&stop["state"], &stop["reason"]),
            (&json!("stopped"), &json!("panic")),
            "{stop}"
        );
        let users: Vec<_> =
            stop["frames"].as_array().unwrap().iter().filter(|f| f["user"] == true).collect();
        assert_eq!(users[0]["function"], "sample::crash");
        assert_eq!(users[0]["line"], line(&text, "crash"));
        assert_eq!(value(&stop["locals"], "v"), "size=0");
        let output = stop["output"].as_str().unwrap();
        assert!(output.contains("index out of bounds"), "{output}");
        let end = checkout.data(json!({"op": "continue"})).await;
        assert_eq!((&end["state"], &end["exit_code"]), (&json!("ended"), &json!(101)));
        checkout.nothing_left();
    });
}

pub(crate) fn values_are_read_right() {
    block_on(async {
        let (checkout, text) = checkout();
        stop_at(&checkout, &text, "values", "values").await;
        let variables = locals(&checkout).await;
        let expected = [
            ("none", "None"),
            ("empty", "Some(\"\")"),
            ("some", "Some(\"hej\")"),
            ("rnone", "None"),
            ("rsome", "Some(\"ref\")"),
            ("ea", "A(\"inner\")"),
            ("eb", "B{x:4}"),
            ("ec", "C"),
            ("so", "None"),
            ("ok", "Ok(\"fine\")"),
            ("er", "Err(3)"),
            ("n8", "None"),
            ("s8", "Some(9)"),
            ("nb", "None"),
            ("sb", "Some(false)"),
            ("m", "size=1"),
            ("v", "size=2"),
            ("t", "(1, \"två\", 3.5)"),
        ];
        for (name, expected) in expected {
            assert_eq!(value(&variables, name), expected, "{name}");
        }
        assert!(value(&variables, "big").ends_with("more characters"));
        let fields = children(&checkout, &variables, "s").await;
        let read = ["name", "o", "v"].map(|name| value(&fields, name));
        assert_eq!(read, ["\"n\"", "None", "None"]);
        let boxed = children(&checkout, &variables, "bsome").await;
        let boxed = children(&checkout, &boxed, "0").await;
        assert_eq!(values(&boxed)[0].1, "7");
        let map = children(&checkout, &variables, "m").await;
        let entry = children(&checkout, &map, "[0]").await;
        assert_eq!(value(&entry, "0"), "\"k\"");
        let list = children(&checkout, &variables, "v").await;
        assert_eq!(value(&list, "[1]"), "\"b\"");
        checkout.data(json!({"op": "terminate"})).await;
        checkout.nothing_left();
    });
}

pub(crate) fn large_collections_are_read_within_two_seconds() {
    block_on(async {
        let (checkout, text) = checkout();
        stop_at(&checkout, &text, "big", "big").await;
        let started = std::time::Instant::now();
        let variables = locals(&checkout).await;
        assert_eq!(value(&variables, "lst"), "size=100000");
        assert_eq!(value(&variables, "m"), "size=100000, the first 1000 listed");
        let list = children(&checkout, &variables, "lst").await;
        assert_eq!(
            (list["variables"].as_array().unwrap().len(), &list["more"]),
            (50, &json!(99950))
        );
        let map = children(&checkout, &variables, "m").await;
        assert_eq!(map["variables"].as_array().unwrap().len(), 50);
        assert!(started.elapsed().as_secs_f64() < 2.0, "{:?}", started.elapsed());
        checkout.data(json!({"op": "terminate"})).await;
        checkout.nothing_left();
    });
}

pub(crate) fn a_function_is_stepped_through() {
    block_on(async {
        let (checkout, text) = checkout();
        stop_at(&checkout, &text, "basic", "loop").await;
        let variables = locals(&checkout).await;
        assert_eq!(value(&variables, "name"), "\"Åsa 世界 🎉\"");
        assert_eq!(value(&variables, "slice"), "\"Åsa 世界 🎉\"");
        assert_eq!(value(&variables, "opt"), "Some(5)");
        assert_eq!(value(&variables, "res"), "Err(\"bad\")");
        let boxed = children(&checkout, &variables, "p").await;
        assert!(value(&boxed, "boss").starts_with("Some("), "{boxed}");
        let counted = children(&checkout, &variables, "rc").await;
        assert_eq!(value(&counted, "value"), "size=3");
        let shapes = children(&checkout, &variables, "shapes").await;
        let shapes: Vec<_> = values(&shapes).into_iter().map(|(_, value)| value).collect();
        assert_eq!(shapes, ["Circle{r:1.5}", "Rect(2, 3)", "Empty"]);
        let found = checkout.data(json!({"op": "evaluate", "expression": "acc + 41"})).await;
        assert_eq!(found["result"], "41");
        let step = checkout.data(json!({"op": "step_in"})).await;
        assert_eq!(step["frame"]["function"], "sample::add");
        checkout.data(json!({"op": "terminate"})).await;
        checkout.nothing_left();
    });
}

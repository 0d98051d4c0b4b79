use agent_tool_core::Secrets;
use serde_json::json;

#[test]
fn a_secret_is_hidden_under_its_name_and_the_longer_one_first() {
    let secrets = Secrets::new([
        ("SHORT", "1234567"),
        ("TOKEN", "tok-1234"),
        ("LONG_TOKEN", "tok-1234-5678"),
    ]);
    let hidden = secrets.hidden("1234567 tok-1234-5678 and tok-1234".to_owned());
    assert_eq!(hidden, "1234567 [LONG_TOKEN] and [TOKEN]");
    let mut value = json!({"tok-1234": ["x tok-1234", 1]});
    secrets.hidden_in(&mut value);
    assert_eq!(value, json!({"[TOKEN]": ["x [TOKEN]", 1]}));
    assert_eq!(format!("{secrets:?}"), r#"["LONG_TOKEN", "TOKEN"]"#);
}

#[test]
fn a_secret_is_hidden_in_the_names_of_fields_too_and_no_field_is_lost() {
    let secrets = Secrets::new([("TOKEN", "tok-1234"), ("WORD", "contents")]);
    let secrets = secrets.keeping(&["contents"]);
    let mut value = json!({"contents": 1, "tok-1234": {"a tok-1234": "contents"}, "[TOKEN]": 2});
    secrets.hidden_in(&mut value);
    let expected = json!({"contents": 1, "[TOKEN] (2)": {"a [TOKEN]": "[WORD]"}, "[TOKEN]": 2});
    assert_eq!(value, expected);
}

#[test]
fn what_may_be_the_beginning_of_a_secret_is_known() {
    let secrets = Secrets::new([("KEY", "sk-0123456789"), ("ODD", "ßßßßßß")]);
    for (text, begun) in [
        ("plain ", 0),
        ("a s", 1),
        ("a sk-012345678", 12),
        ("sk-0123456789", 0),
        ("aß", 2),
        ("", 0),
    ] {
        assert_eq!(secrets.begun_at_the_end(text), begun, "{text}");
    }
    assert_eq!(Secrets::default().begun_at_the_end("s"), 0);
}

#[test]
fn one_secret_is_hidden_however_short_and_with_its_beginning() {
    assert_eq!(Secrets::one("K", "abc").hidden_with_beginnings("an abc"), "an [K]");
    let long = Secrets::one("K", "sk-0123456789abcdef");
    assert_eq!(long.hidden_with_beginnings("(sk-01234****f) is"), "([K] is");
    assert!(Secrets::one("K", "").is_empty());
}

#[test]
fn a_secret_is_hidden_however_json_writes_it() {
    let secrets =
        Secrets::new([("KEY", "pa\"ss\\wö/rd<1>\nsecond line"), ("FACE", "😀-secret-😀")]);
    for written in [
        r#"{"k": "pa\"ss\\wö/rd<1>\nsecond line"}"#,
        r#"{"k": "pa\"ss\\w\u00f6/rd<1>\nsecond line"}"#,
        r#"{"k": "pa\"ss\\w\u00F6\/rd\u003c1\u003e\u000asecond line"}"#,
        r#"{"k": "pa\\\"ss\\\\wö/rd<1>\\nsecond line"}"#,
    ] {
        let hidden = secrets.hidden(written.to_owned());
        assert_eq!(hidden, r#"{"k": "[KEY]"}"#, "{written}");
    }
    let twice = secrets.hidden(r#"a \ud83d\ude00-secret-\ud83d\ude00 \n b"#.to_owned());
    assert_eq!(twice, r"a [FACE] \n b");
    let other = r#"C:\new\table \u00zz \ud83d \"#;
    assert_eq!(secrets.hidden(other.to_owned()), other);
}

#[test]
fn each_line_of_a_secret_is_one_but_for_what_names_its_kind() {
    let key = "-----BEGIN KEY-----\nAAAAB3NzaC1lZDI1NTE5\r\nshort\n-----END KEY-----\n";
    let secrets = Secrets::new([("KEY", key)]);
    let shown = "1: -----BEGIN KEY-----\n2:   AAAAB3NzaC1lZDI1NTE5\n3: short".to_owned();
    assert_eq!(secrets.hidden(shown), "1: -----BEGIN KEY-----\n2:   [KEY]\n3: short");
    assert_eq!(secrets.hidden(format!("({})", key.trim())), "([KEY])");
    assert_eq!(secrets.hidden(key.replace('\r', "")), "[KEY]\n");
    assert_eq!(format!("{secrets:?}"), r#"["KEY"]"#);
}

#[test]
fn a_secret_with_a_colour_in_it_is_hidden_where_the_colour_goes() {
    let secrets = Secrets::new([("KEY", "s3cr3t-value-123")]);
    let coloured = "a \u{1b}[1ms3cr3\u{1b}[31mt-value-1\u{1b}]0;title\u{7}23\u{1b}[0m b".to_owned();
    assert_eq!(secrets.hidden(coloured), "a [KEY] b");
    let other = "\u{1b}[31mred\u{1b}[0m\r\n".to_owned();
    assert_eq!(secrets.hidden(other.clone()), other, "what hides nothing stays");
}

#[test]
fn a_long_text_costs_little() {
    let lines: Vec<String> = (0..60).map(|line| format!("{line:03}{}", "k".repeat(61))).collect();
    let secrets = Secrets::new([("KEY", lines.join("\n")), ("TOKEN", "tok-12345678".to_owned())]);
    let text = r#"{\"line\": \"tok-1234567 and\\nmore\"}"#.repeat(6_000);
    let begun = std::time::Instant::now();
    assert_eq!(secrets.hidden(text.clone()), text);
    assert!(begun.elapsed().as_secs() < 5, "{:?}", begun.elapsed());
}

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

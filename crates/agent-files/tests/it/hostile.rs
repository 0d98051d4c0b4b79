//! Arguments that mean harm, or do it.

use agent_files::{MAX_CONTENT_BYTES, MAX_IMAGE_BYTES, MAX_PATCH_BYTES, MAX_PATTERN};
use serde_json::json;

use crate::checkout::Checkout;

#[test]
fn every_size_has_a_limit() {
    let checkout = Checkout::new([("a.txt", "one\n")]);
    let mut picture = b"\x89PNG\r\n\x1a\n".to_vec();
    picture.resize(MAX_IMAGE_BYTES + 1, 0);
    checkout.put("large.png", picture);
    let cases = [
        ("write", json!({"path": "b", "content": "x".repeat(MAX_CONTENT_BYTES + 1)}), "too_large"),
        ("apply_patch", json!({"patch": "x".repeat(MAX_PATCH_BYTES + 1)}), "too_large"),
        ("search", json!({"pattern": "x".repeat(MAX_PATTERN + 1)}), "invalid_pattern"),
        ("search", json!({"pattern": "((a{100}){100}){100}"}), "invalid_pattern"),
        ("search", json!({"pattern": "(".repeat(2_000) + &")".repeat(2_000)}), "invalid_pattern"),
        ("search", json!({"pattern": "a", "max_results": 1_000_000}), "invalid_args"),
        ("search", json!({"pattern": "a", "context": 21}), "invalid_args"),
        ("search", json!({"glob": "[".repeat(500)}), "invalid_glob"),
        ("read", json!({"path": "large.png"}), "too_large"),
        ("read", json!({"path": "x/".repeat(5_000)}), "invalid_path"),
        ("read", json!({"path": "a.txt", "offset": -1}), "invalid_args"),
        ("read", json!({"path": "a.txt", "offset": 0}), "invalid_args"),
        ("read", json!({"path": "a.txt", "limit": 0}), "invalid_args"),
        ("read", json!({"path": "a.txt", "offset": u64::MAX}), "offset_past_end"),
        ("read", json!({"path": ["a.txt"]}), "invalid_args"),
        ("read", json!({"file": "a.txt"}), "invalid_args"),
    ];
    for (tool, args, code) in cases {
        let shown: String = args.to_string().chars().take(80).collect();
        assert_eq!(checkout.refused(tool, args), code, "{tool} {shown}");
    }
    assert_eq!(checkout.bytes("b"), None);
}

#[test]
fn a_pattern_that_backtracks_elsewhere_takes_linear_time() {
    let checkout = Checkout::new([("a.txt", "a".repeat(200_000) + "\n")]);
    let found = checkout.call("search", json!({"pattern": "(a+)+$|(a|aa)*b"})).unwrap();
    assert_eq!(found.data["total"], 1);
}

#[test]
fn files_of_equal_lines_are_patched_in_linear_time() {
    let text = "same\n".repeat(60_000);
    let checkout = Checkout::new([("a.txt", text.as_str())]);
    let patch = format!(
        "*** Begin Patch\n*** Update File: a.txt\n{}+end\n*** End of File\n*** End Patch",
        " same\n".repeat(30_000)
    );
    checkout.call("apply_patch", json!({ "patch": patch })).unwrap();
    assert_eq!(checkout.bytes("a.txt").unwrap(), (text + "end\n").into_bytes());
}

#[test]
fn large_output_is_cut_between_lines() {
    let line = "é".repeat(1_000);
    let checkout = Checkout::new([("a.txt", format!("{line}\n").repeat(100))]);
    let read = checkout.call("read", json!({"path": "a.txt"})).unwrap();
    assert_eq!(read.data["last_line"], 29);
    assert!(read.joined_text().ends_with("\n(lines 1-29 of 100; read on with offset 30)"));
    let found = checkout.call("search", json!({"pattern": "é"})).unwrap();
    assert!(found.joined_text().chars().count() < 32_000);
    assert_eq!((&found.data["total"], &found.data["more"]), (&json!(100), &json!(true)));
}

#[test]
fn a_longer_line_is_cut_and_that_is_said() {
    let checkout = Checkout::new([("a.txt", "x".repeat(5_000) + "needle" + &"y".repeat(5_000))]);
    let read = checkout.call("read", json!({"path": "a.txt"})).unwrap().joined_text();
    let expected = format!(
        "1\t{}… 8006 more characters\n(1 line was cut at 2000 characters; search shows parts of it)\n\
         (no newline at the end)",
        "x".repeat(2_000)
    );
    assert_eq!(read, expected);
    let found = checkout.call("search", json!({"pattern": "needle"})).unwrap();
    let expected = format!("…{}needle{}…", "x".repeat(100), "y".repeat(294));
    assert_eq!(found.data["matches"][0]["text"], expected);
    assert_eq!(found.data["matches"][0]["column"], 5_001);
}

#[test]
fn a_picture_comes_as_a_picture_whatever_its_name() {
    use agent_tool_core::Part;
    let heads: [(&[u8], &str); 4] = [
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "image/png"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF", "image/jpeg"),
        (b"GIF89a\x01\0", "image/gif"),
        (b"RIFF\x04\0\0\0WEBPVP8 ", "image/webp"),
    ];
    for (bytes, mime) in heads {
        let checkout = Checkout::new([("a.txt", bytes)]);
        let output = checkout.call("read", json!({"path": "a.txt"})).unwrap();
        use base64::Engine;
        let base64 = base64::engine::general_purpose::STANDARD.encode(bytes);
        assert_eq!(output.parts[1], Part::image(mime, base64));
        assert_eq!(output.data, json!({"path": "a.txt", "mime": mime, "bytes": bytes.len()}));
    }
}

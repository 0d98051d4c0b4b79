use agent_workspace::{BINARY_PROBE_BYTES, Encoding, LineEnding, SkipReason, Text, TextInfo};
use proptest::prelude::*;

#[test]
fn bytes_are_told_apart() {
    use Encoding::{Latin1, Utf8, Utf8Bom, Utf16Be, Utf16Le};
    use LineEnding::{Cr, CrLf, Lf, Mixed, None};
    let cases: &[(&[u8], Encoding, LineEnding, &str, bool)] = &[
        (b"", Utf8, None, "\n", false),
        (b"one", Utf8, None, "\n", false),
        (b"one\ntwo\n", Utf8, Lf, "\n", true),
        (b"one\r\ntwo", Utf8, CrLf, "\r\n", false),
        (b"one\rtwo\r", Utf8, Cr, "\r", true),
        (b"1\r\n2\r\n3\n", Utf8, Mixed, "\r\n", true),
        (b"1\r\n2\n", Utf8, Mixed, "\n", true),
        (b"\xEF\xBB\xBFone\r\n", Utf8Bom, CrLf, "\r\n", true),
        (b"\xFF\xFEa\0\n\0", Utf16Le, Lf, "\n", true),
        (b"\xFE\xFF\0a\0\r\0\n", Utf16Be, CrLf, "\r\n", true),
        (b"\xFF\xFEa", Latin1, None, "\n", false),
        (b"caf\xE9\n", Latin1, Lf, "\n", true),
    ];
    for &(bytes, encoding, line_ending, newline, final_newline) in cases {
        let info = TextInfo::of(bytes);
        let found = (info.encoding, info.line_ending, info.newline, info.final_newline);
        assert_eq!(found, (encoding, line_ending, newline, final_newline), "{bytes:?}");
        assert!(!info.binary, "{bytes:?}");
    }
}

#[test]
fn a_nul_byte_early_makes_a_file_binary() {
    let mut late = vec![b'x'; BINARY_PROBE_BYTES];
    late.push(0);
    assert!(!TextInfo::of(&late).binary);
    assert!(TextInfo::of(&late[1..]).binary);
    assert_eq!(SkipReason::of_bytes(b"a\0b"), Some(SkipReason::Binary));
    assert_eq!(SkipReason::of_bytes(b"caf\xE9"), Some(SkipReason::NotUtf8));
    assert_eq!(SkipReason::of_bytes("café".as_bytes()), None);
}

#[test]
fn a_character_that_the_encoding_lacks_is_refused() {
    let text = Text::decode(b"caf\xE9");
    assert_eq!(text.content, "café");
    assert_eq!(text.encode("é!").unwrap(), b"\xE9!");
    assert_eq!(text.encode("→").unwrap_err().code(), "not_encodable");
}

proptest! {
    #[test]
    fn any_bytes_come_back(bytes in proptest::collection::vec(any::<u8>(), 0..64), mark in 0_usize..4) {
        let mark: &[u8] = [&b""[..], b"\xEF\xBB\xBF", b"\xFF\xFE", b"\xFE\xFF"][mark];
        let bytes = [mark, &bytes].concat();
        let text = Text::decode(&bytes);
        prop_assert_eq!(text.encode(&text.content).unwrap(), bytes);
    }
}

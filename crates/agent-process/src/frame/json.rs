use serde_json::Value;

use super::{Odd, clipped};

/// The body as JSON. Two faults of real peers are mended first: bytes that are not UTF-8, and escapes of half a surrogate
/// pair (Python's `"\udcff"`), which become U+FFFD.
///
/// # Errors
///
/// [`Odd::NotJson`], with what the parser said.
pub fn parse_json(body: &[u8]) -> Result<Value, Odd> {
    let not_json =
        |error: &serde_json::Error| Odd::NotJson { why: error.to_string(), start: clipped(body) };
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let first = match serde_json::from_slice(body) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    let text = String::from_utf8_lossy(body);
    serde_json::from_str(&mend_surrogates(&text)).map_err(|_| not_json(&first))
}

fn mend_surrogates(text: &str) -> String {
    let mut mended = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        mended.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = match unit(rest) {
            // A pair stands as it is.
            Some(0xd800..=0xdbff)
                if rest
                    .get(6..)
                    .and_then(unit)
                    .is_some_and(|low| (0xdc00..=0xdfff).contains(&low)) =>
            {
                12
            }
            Some(0xd800..=0xdfff) => {
                mended.push_str("\\ufffd");
                rest = &rest[6..];
                continue;
            }
            // The character after a backslash belongs to it: the second of `\\` begins no escape.
            _ => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
        };
        mended.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    mended.push_str(rest);
    mended
}

/// The code unit of `\uXXXX` at the start of the text.
fn unit(text: &str) -> Option<u16> {
    u16::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::parse_json;

    #[test]
    fn json_with_half_a_surrogate_pair_or_bad_utf8_is_mended() {
        let cases: [(&[u8], _); 6] = [
            (br#"{"a":1}"#, json!({"a": 1})),
            (br#""\udcff""#, json!("\u{fffd}")),
            (br#""\ud83d\ude00 \ud83d x""#, json!("😀 \u{fffd} x")),
            (br#""\\udcff \ud800""#, json!("\\udcff \u{fffd}")),
            (b"\"\xff\"", json!("\u{fffd}")),
            (b"\xef\xbb\xbf{}", json!({})),
        ];
        for (body, expected) in cases {
            assert_eq!(parse_json(body), Ok(expected), "{}", String::from_utf8_lossy(body));
        }
    }

    #[test]
    fn a_body_that_is_no_json_says_why_and_how_it_begins() {
        let odd = parse_json(b"{oops").unwrap_err().to_string();
        assert_eq!(
            odd,
            "a message that is no JSON (key must be a string at line 1 column 2): {oops"
        );
        assert!(parse_json(b"").unwrap_err().to_string().contains("EOF"));
        assert!(parse_json(br#""\ud800"#).is_err());
    }
}

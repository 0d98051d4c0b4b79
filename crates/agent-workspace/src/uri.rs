use std::path::{Path, PathBuf};

use crate::{Error, ErrorKind, Result, platform};

const SCHEME: &str = "file://";
const HEX: &[u8; 16] = b"0123456789ABCDEF";

/// The `file://` URI of an absolute path (RFC 8089). Bytes that are not UTF-8 are percent-encoded as they are.
pub fn path_to_uri(path: &Path) -> String {
    let mut uri = String::from(SCHEME);
    for &byte in platform::bytes(path.as_os_str()) {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            uri.push('%');
            uri.push(char::from(HEX[usize::from(byte >> 4)]));
            uri.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
    uri
}

/// The absolute path of a `file://` URI, wherever it lies. [`Workspace::resolve`](crate::Workspace::resolve) contains it.
///
/// # Errors
/// `invalid_path` for another scheme or host, a broken escape, a NUL byte or a query.
pub fn uri_to_path(uri: &str) -> Result<PathBuf> {
    let refuse = |why: &str| {
        Error::new(
            ErrorKind::InvalidPath,
            format!("`{uri}` {why}; write a relative path or `file:///absolute/path`"),
        )
    };
    let scheme = uri.get(..SCHEME.len());
    if !scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case(SCHEME)) {
        return Err(refuse("is no file:// URI"));
    }
    let rest = &uri[SCHEME.len()..];
    let start = rest.find('/').ok_or_else(|| refuse("has no path"))?;
    let host = &rest[..start];
    if !host.is_empty() && !host.eq_ignore_ascii_case("localhost") {
        return Err(refuse("names another host"));
    }
    let bytes = decode(&rest.as_bytes()[start..]).ok_or_else(|| refuse("has a broken % escape"))?;
    if bytes.contains(&0) {
        return Err(refuse("has a NUL byte"));
    }
    Ok(PathBuf::from(platform::from_bytes(bytes)))
}

fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let (digits, tail) = rest.split_at_checked(2)?;
        let high = char::from(digits[0]).to_digit(16)?;
        let low = char::from(digits[1]).to_digit(16)?;
        out.push(u8::try_from(high * 16 + low).ok()?);
        rest = tail;
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_absolute_path_comes_back(name in proptest::collection::vec(1_u8.., 0..40)) {
            let mut bytes = b"/".to_vec();
            bytes.extend(name);
            let path = PathBuf::from(platform::from_bytes(bytes));
            prop_assert_eq!(uri_to_path(&path_to_uri(&path)).unwrap(), path);
        }
    }
}

//! Pictures that models take.

use agent_tool_core::{ErrorKind, ToolError};
use base64::{Engine, engine::general_purpose::STANDARD};

/// The largest picture, in bytes: 5 MiB, the least that the common providers take.
pub const MAX_IMAGE_BYTES: usize = 5 * 1024 * 1024;

/// The media type by the first bytes, whatever the name says.
pub(super) fn mime(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

pub(super) fn base64(shown: &str, bytes: &[u8]) -> Result<String, ToolError> {
    if bytes.len() > MAX_IMAGE_BYTES {
        return Err(ToolError::new(
            ErrorKind::InvalidArgs,
            "too_large",
            format!(
                "`{shown}` is a picture of {} bytes and at most {MAX_IMAGE_BYTES} are shown; \
                 make a smaller copy of it",
                bytes.len()
            ),
        ));
    }
    Ok(STANDARD.encode(bytes))
}

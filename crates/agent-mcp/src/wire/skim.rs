//! Whom a message answers that is too long to be kept.

use std::sync::Arc;

use rmcp::model::RequestId;

/// The longest key or id that is looked at, in bytes.
const TOKEN_BYTES: usize = 64;

/// Reads a JSON object as it passes by and keeps its own `id`, wherever in it that stands.
#[derive(Debug, Default)]
pub(super) struct Skim {
    depth: usize,
    in_text: bool,
    escaped: bool,
    /// The last string or other scalar at the object's own level.
    token: Vec<u8>,
    token_is_text: bool,
    key: Vec<u8>,
    id: Option<RequestId>,
}

impl Skim {
    pub(super) fn take(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.byte(*byte));
    }

    /// The id, where the message has one that an answer can have.
    pub(super) fn id(self) -> Option<RequestId> {
        self.id
    }

    fn byte(&mut self, byte: u8) {
        if self.in_text {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => {
                    self.in_text = false;
                    return;
                }
                _ => {}
            }
            return self.keep(byte);
        }
        match byte {
            b'"' => {
                self.in_text = true;
                if self.depth == 1 {
                    self.token.clear();
                    self.token_is_text = true;
                }
            }
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                if self.depth == 1 {
                    self.value_ended();
                }
                self.depth = self.depth.saturating_sub(1);
            }
            b':' if self.depth == 1 => {
                self.key = std::mem::take(&mut self.token);
                self.token_is_text = false;
            }
            b',' if self.depth == 1 => self.value_ended(),
            byte if !byte.is_ascii_whitespace() => self.keep(byte),
            _ => {}
        }
    }

    fn keep(&mut self, byte: u8) {
        if self.depth == 1 && self.token.len() <= TOKEN_BYTES {
            self.token.push(byte);
        }
    }

    fn value_ended(&mut self) {
        let token = std::mem::take(&mut self.token);
        if std::mem::take(&mut self.key) != b"id" || token.len() > TOKEN_BYTES {
            return;
        }
        let Ok(text) = String::from_utf8(token) else { return };
        self.id = match self.token_is_text {
            true => Some(RequestId::String(Arc::from(text))),
            false => text.parse().ok().map(RequestId::Number),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> Option<RequestId> {
        let mut skim = Skim::default();
        // However the bytes were split.
        text.as_bytes().chunks(3).for_each(|chunk| skim.take(chunk));
        skim.id()
    }

    #[test]
    fn the_id_of_the_message_is_taken_and_no_other() {
        let number = |id| Some(RequestId::Number(id));
        assert_eq!(id(r#"{"jsonrpc":"2.0","id":3,"result":{"id":9}}"#), number(3));
        assert_eq!(id(r#"{"result":{"a":[{"id":9}],"t":"\"id\":8,"},"id": 4 }"#), number(4));
        assert_eq!(id(r#"{"id":"a-1","result":"id"}"#), Some(RequestId::String("a-1".into())));
        for none in [
            r#"{"method":"id"}"#,
            r#"{"id":null}"#,
            r#"[{"id":1}]"#,
            "no json",
            r#"{"x":"id","y":1}"#,
        ] {
            assert_eq!(id(none), None, "{none}");
        }
    }
}

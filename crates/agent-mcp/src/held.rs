//! A tool's promise about its structured results.

use std::fmt;

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

use crate::text::quoted;

/// So many characters of what is wrong are said.
const WRONG_CHARS: usize = 300;

/// An output schema that results are held to. References out of it are not followed, and its patterns are matched in linear
/// time: it comes from the server.
pub(crate) struct Held(Validator);

impl Held {
    /// # Errors
    ///
    /// Why nothing can be held to this schema.
    pub(crate) fn new(schema: &Value) -> Result<Self, String> {
        let options = jsonschema::options().with_pattern_options(PatternOptions::regex());
        let validator = options.build(schema);
        validator.map(Self).map_err(|error| quoted(&error.to_string(), WRONG_CHARS))
    }

    /// # Errors
    ///
    /// Where a result breaks the schema, and how.
    pub(crate) fn check(&self, result: &Value) -> Result<(), String> {
        self.0.validate(result).map_err(|error| {
            let place = error.instance_path().to_string();
            let place = match &*place {
                "" => "the whole".to_owned(),
                place => quoted(place, WRONG_CHARS),
            };
            // Its words hold names and values of the server's.
            format!("{place}: {}", quoted(&error.to_string(), WRONG_CHARS))
        })
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Held").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_result_that_breaks_the_schema_says_where() {
        let held = Held::new(&json!({"type": "object", "properties": {"n": {"type": "integer"}}}))
            .unwrap();
        assert_eq!(held.check(&json!({"n": 1})), Ok(()));
        assert_eq!(
            held.check(&json!({"n": "x"})).unwrap_err(),
            "`/n`: `\"x\" is not of type \"integer\"`"
        );
        assert!(held.check(&json!(3)).unwrap_err().starts_with("the whole: "));
    }

    #[test]
    fn no_reference_leads_out_and_no_pattern_takes_for_ever() {
        assert!(Held::new(&json!({"$ref": "http://127.0.0.1:1/x.json"})).is_err());
        let bomb = Held::new(&json!({"type": "string", "pattern": "^(a+)+$"})).unwrap();
        assert!(bomb.check(&json!(format!("{}b", "a".repeat(50_000)))).is_err());
    }
}

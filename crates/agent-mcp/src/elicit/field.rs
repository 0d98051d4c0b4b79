//! One field of a form: what it takes, and what was given.

use agent_tool_core::CardOption;
use serde_json::{Number, Value};

use super::{NO, YES, shown};
use crate::{
    text::{behind_margin, clean_line, quoted},
    wire::string_of,
};

/// The most options of one field.
const MAX_OPTIONS: usize = 50;

/// So many characters of a label are on a card, and of a description.
const LABEL_CHARS: usize = 120;
const DESCRIPTION_CHARS: usize = 600;

/// A field.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) required: bool,
    title: String,
    description: String,
    /// What its server would fill in, quoted.
    default: Option<String>,
    takes: Takes,
}

#[derive(Debug)]
enum Takes {
    Text { shortest: u64, longest: Option<u64>, format: Option<String> },
    Number { whole: bool, least: Option<f64>, most: Option<f64> },
    YesOrNo,
    One(Vec<Choice>),
    Several { choices: Vec<Choice>, fewest: u64, most: Option<u64> },
}

#[derive(Debug)]
struct Choice {
    value: String,
    label: String,
}

/// What came of an answer.
pub(super) enum Answered {
    Value(Value),
    /// It does not fit, with what would.
    Wrong(String),
}

impl Field {
    /// Reads a field; none for what no card can ask for.
    pub(super) fn read(name: &str, schema: &Value, required: bool) -> Option<Self> {
        let number = |key: &str| schema.get(key).and_then(Value::as_f64);
        let count = |key: &str| schema.get(key).and_then(Value::as_u64);
        let takes = match string_of(schema, "type")? {
            "string" => match choices(schema) {
                Some(choices) => Takes::One(choices?),
                None => Takes::Text {
                    shortest: count("minLength").unwrap_or(0),
                    longest: count("maxLength"),
                    format: string_of(schema, "format").map(|format| quoted(format, LABEL_CHARS)),
                },
            },
            kind @ ("number" | "integer") => Takes::Number {
                whole: kind == "integer",
                least: number("minimum"),
                most: number("maximum"),
            },
            "boolean" => Takes::YesOrNo,
            "array" => Takes::Several {
                choices: choices(schema.get("items")?)??,
                fewest: count("minItems").unwrap_or(0),
                most: count("maxItems"),
            },
            _ => return None,
        };
        let title = string_of(schema, "title").unwrap_or(name);
        let description = string_of(schema, "description").unwrap_or_default();
        Some(Self {
            name: name.to_owned(),
            required,
            title: clean_line(title, LABEL_CHARS),
            description: shown(description, DESCRIPTION_CHARS),
            default: default_of(schema),
            takes,
        })
    }

    pub(super) fn title(&self) -> &str {
        &self.title
    }

    /// What a person should know before they answer.
    pub(super) fn said(&self) -> String {
        let mut said = Vec::new();
        if !self.description.is_empty() {
            said.push("and of this field".to_owned());
            said.extend(behind_margin(&self.description));
        }
        match &self.takes {
            Takes::Text { format: Some(format), .. } => {
                said.push(format!("as {format}, which is not checked here"));
            }
            Takes::Number { whole, least, most } => {
                said.push(number_in_words(*whole, *least, *most))
            }
            Takes::Several { fewest, most, .. } if *fewest > 0 || most.is_some() => {
                said.push(format!("choose {}", between(Some(fewest), most.as_ref())));
            }
            _ => {}
        }
        let default = self.default.as_ref();
        said.extend(
            default.map(|default| format!("its default is {default}, which is not filled in")),
        );
        said.push(match self.required {
            true => "skipping it declines the whole form".to_owned(),
            false => "skipping it leaves it out".to_owned(),
        });
        said.join("\n")
    }

    pub(super) fn options(&self) -> Vec<CardOption> {
        let numbered = |choices: &[Choice]| {
            let options = choices.iter().enumerate();
            options
                .map(|(index, choice)| CardOption::new(index.to_string(), &choice.label))
                .collect()
        };
        match &self.takes {
            Takes::YesOrNo => vec![CardOption::new(YES, "yes"), CardOption::new(NO, "no")],
            Takes::One(choices) | Takes::Several { choices, .. } => numbered(choices),
            Takes::Text { .. } | Takes::Number { .. } => Vec::new(),
        }
    }

    pub(super) fn takes_text(&self) -> bool {
        matches!(self.takes, Takes::Text { .. } | Takes::Number { .. })
    }

    pub(super) fn takes_several(&self) -> bool {
        matches!(self.takes, Takes::Several { .. })
    }

    /// Reads an answer, which holds to what the card takes.
    pub(super) fn answer(&self, options: &[String], typed: Option<String>) -> Answered {
        let typed = typed.unwrap_or_default();
        match &self.takes {
            Takes::YesOrNo => Answered::Value(Value::Bool(options == [YES])),
            Takes::One(choices) => match picked(choices, options).pop() {
                Some(value) => Answered::Value(value),
                None => Answered::Wrong("choose one of the options".to_owned()),
            },
            Takes::Several { choices, fewest, most } => {
                let picked = picked(choices, options);
                let count = picked.len() as u64;
                match count < *fewest || most.is_some_and(|most| count > most) {
                    true => {
                        Answered::Wrong(format!("choose {}", between(Some(fewest), most.as_ref())))
                    }
                    false => Answered::Value(Value::Array(picked)),
                }
            }
            Takes::Text { shortest, longest, .. } => {
                let count = typed.chars().count() as u64;
                match count < *shortest || longest.is_some_and(|longest| count > longest) {
                    true => {
                        let bounds = between(Some(shortest), longest.as_ref());
                        Answered::Wrong(format!("it has {count} characters and takes {bounds}"))
                    }
                    false => Answered::Value(Value::String(typed)),
                }
            }
            Takes::Number { whole, least, most } => number_of(&typed, *whole, *least, *most),
        }
    }
}

fn number_of(typed: &str, whole: bool, least: Option<f64>, most: Option<f64>) -> Answered {
    let typed = typed.trim();
    let number = match whole {
        true => typed.parse::<i64>().ok().map(Number::from),
        false => typed.parse::<f64>().ok().and_then(Number::from_f64),
    };
    let fits = |number: &Number| {
        let value = number.as_f64().unwrap_or(f64::NAN);
        least.is_none_or(|least| value >= least) && most.is_none_or(|most| value <= most)
    };
    match number.filter(fits) {
        Some(number) => Answered::Value(Value::Number(number)),
        None => Answered::Wrong(format!("it takes {}", number_in_words(whole, least, most))),
    }
}

/// `a whole number 1 to 9`.
fn number_in_words(whole: bool, least: Option<f64>, most: Option<f64>) -> String {
    let kind = if whole { "a whole number" } else { "a number" };
    format!("{kind} {}", between(least.as_ref(), most.as_ref())).trim_end().to_owned()
}

fn default_of(schema: &Value) -> Option<String> {
    let default = schema.get("default").filter(|default| !default.is_null())?;
    let text = default.as_str().map_or_else(|| default.to_string(), str::to_owned);
    Some(quoted(&text, LABEL_CHARS))
}

fn picked(choices: &[Choice], options: &[String]) -> Vec<Value> {
    let indices = options.iter().filter_map(|option| option.parse::<usize>().ok());
    let picked = indices.filter_map(|index| choices.get(index));
    picked.map(|choice| Value::String(choice.value.clone())).collect()
}

fn between<T: std::fmt::Display>(least: Option<&T>, most: Option<&T>) -> String {
    match (least, most) {
        (Some(least), Some(most)) => format!("{least} to {most}"),
        (Some(least), None) => format!("at least {least}"),
        (None, Some(most)) => format!("at most {most}"),
        (None, None) => String::new(),
    }
}

/// The choices of a schema: `enum`, with its names where it has them, or `oneOf` and `anyOf` of constants. None where it has
/// none, and none inside where they cannot be shown.
fn choices(schema: &Value) -> Option<Option<Vec<Choice>>> {
    let list = |key: &str| schema.get(key).and_then(Value::as_array);
    let choice = |value: &Value, label: Option<&Value>| {
        let value = value.as_str()?;
        let label = label.and_then(Value::as_str).unwrap_or(value);
        Some(Choice { value: value.to_owned(), label: clean_line(label, LABEL_CHARS) })
    };
    let choices: Option<Vec<Choice>> = match (list("enum"), list("oneOf").or(list("anyOf"))) {
        (Some(values), _) => {
            let names = list("enumNames");
            let named = values.iter().enumerate();
            named.map(|(at, value)| choice(value, names.and_then(|names| names.get(at)))).collect()
        }
        (None, Some(branches)) => {
            let constants =
                branches.iter().map(|branch| choice(branch.get("const")?, branch.get("title")));
            constants.collect()
        }
        (None, None) => return None,
    };
    Some(choices.filter(|choices| !choices.is_empty() && choices.len() <= MAX_OPTIONS))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(schema: Value, options: &[&str], typed: Option<&str>) -> Result<Value, String> {
        let field = Field::read("f", &schema, true).expect("a field");
        let options: Vec<String> = options.iter().map(|option| (*option).to_owned()).collect();
        match field.answer(&options, typed.map(str::to_owned)) {
            Answered::Value(value) => Ok(value),
            Answered::Wrong(why) => Err(why),
        }
    }

    #[test]
    fn an_answer_becomes_a_value_of_its_field_or_says_what_would() {
        let number = json!({"type": "integer", "minimum": 1, "maximum": 5});
        assert_eq!(read(number.clone(), &[], Some(" 3 ")), Ok(json!(3)));
        assert_eq!(
            read(number.clone(), &[], Some("3.5")),
            Err("it takes a whole number 1 to 5".to_owned())
        );
        assert_eq!(read(number, &[], Some("9")), Err("it takes a whole number 1 to 5".to_owned()));
        assert_eq!(read(json!({"type": "number"}), &[], Some("2.5")), Ok(json!(2.5)));
        assert_eq!(read(json!({"type": "boolean"}), &["no"], None), Ok(json!(false)));
        assert_eq!(
            read(json!({"type": "string", "enum": ["a", "b"]}), &["1"], None),
            Ok(json!("b"))
        );
        let titled = json!({"type": "string", "oneOf": [{"const": "#f00", "title": "red"}]});
        assert_eq!(Field::read("f", &titled, true).unwrap().options()[0].label, "red");
        assert_eq!(read(titled, &["0"], None), Ok(json!("#f00")));
        let several = json!({"type": "array", "minItems": 2, "items": {"enum": ["a", "b", "c"]}});
        assert_eq!(read(several.clone(), &["0", "2"], None), Ok(json!(["a", "c"])));
        assert_eq!(read(several, &["0"], None), Err("choose at least 2".to_owned()));
        let text = json!({"type": "string", "maxLength": 3});
        assert_eq!(
            read(text, &[], Some("abcd")),
            Err("it has 4 characters and takes 0 to 3".to_owned())
        );
    }
}

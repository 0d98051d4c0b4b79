//! Rows of several texts become one table, before they are typed.

use toml::{Table, Value};

use super::TableError;

/// The rows of a text: `[[server]]`.
pub(super) fn rows(text: &str) -> Result<Vec<Table>, TableError> {
    let mut table: Table = text.parse().map_err(|error| TableError::syntax(&error))?;
    let Some(servers) = table.remove("server") else {
        return Ok(Vec::new());
    };
    let Value::Array(servers) = servers else {
        return Err(TableError::shape());
    };
    let row = |value| match value {
        Value::Table(row) => Ok(row),
        _ => Err(TableError::shape()),
    };
    servers.into_iter().map(row).collect()
}

pub(super) fn id(row: &Table) -> Result<&str, TableError> {
    row.get("id").and_then(Value::as_str).filter(|id| !id.is_empty()).ok_or_else(TableError::no_id)
}

/// The rows with those of the user put over them; rows that are disabled go.
pub(super) fn merged(mut rows: Vec<Table>, user: Vec<Table>) -> Result<Vec<Table>, TableError> {
    for over in user {
        let id = id(&over)?.to_owned();
        match rows.iter_mut().find(|row| self::id(row).is_ok_and(|known| known == id)) {
            Some(row) => overlay(row, over),
            None => rows.push(over),
        }
    }
    rows.retain_mut(|row| row.remove("disabled") != Some(Value::Boolean(true)));
    Ok(rows)
}

/// Settings are merged field by field; everything else is replaced, so that a `wait` of another class brings no field along.
fn overlay(row: &mut Table, over: Table) {
    for (key, value) in over {
        match (row.get_mut(&key), value) {
            (Some(Value::Table(under)), Value::Table(over)) if key.ends_with("settings") => {
                deep(under, over);
            }
            (_, value) => {
                row.insert(key, value);
            }
        }
    }
}

fn deep(under: &mut Table, over: Table) {
    for (key, value) in over {
        match (under.get_mut(&key), value) {
            (Some(Value::Table(under)), Value::Table(over)) => deep(under, over),
            (_, value) => {
                under.insert(key, value);
            }
        }
    }
}

//! `log_rotate_apply`: the one tool that changes something, and only what a plan says.

use humantime::format_rfc3339_seconds;
use serde_json::{Map, Value, json};

use super::{Tool, closed, log_rotate_plan::plan_id};
use crate::{
    arguments::Arguments,
    protocol::Call,
    refusal::Refusal,
    rotation::{self, ID_DIGITS, When},
    site::Site,
};

pub(super) const TOOL: Tool = Tool { name: "log_rotate_apply", definition, call };

fn definition() -> Value {
    json!({
        "name": "log_rotate_apply",
        "title": "Rotate the log as planned",
        "description": "Does what the plan with this id says, after a person has seen it: app/logs/app.log becomes an archive, and an empty log takes \
            its place. Refused where the log changed since. A repeated call rotates nothing and answers `already_applied` with the earlier result (for 7 days), so \
            after a broken connection call it again. A program that has the log open writes to the archive until it opens the log again: \
            nothing is lost, and space comes free with the archive.",
        "inputSchema": {
            "type": "object",
            "properties": {"plan_id": plan_id()},
            "required": ["plan_id"],
            "additionalProperties": false,
        },
        "outputSchema": closed(json!({
            "status": {"enum": ["applied", "already_applied"]},
            "archive": {"type": "string", "description": "The archive's name, beside the log."},
            "log_size": {"type": "integer", "minimum": 0, "description": "Bytes of the archive when it stopped being the log."},
            "applied_at": {"type": "string", "description": "UTC, as RFC 3339 writes it. Of a rotation whose process was ended in its last step, when that was found out."},
        })),
        "annotations": {"readOnlyHint": false, "destructiveHint": true, "idempotentHint": true, "openWorldHint": false},
    })
}

fn call(site: &Site, arguments: &Map<String, Value>, _: &Call) -> Result<Value, Refusal> {
    let arguments = Arguments::new(arguments, &["plan_id"])?;
    let id = arguments.text("plan_id", ID_DIGITS..=ID_DIGITS)?;
    if !id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        return Err(Refusal::invalid(format!(
            "`plan_id` is {ID_DIGITS} hexadecimal digits in lower case, as log_rotate_plan gave them"
        )));
    }
    let applied = rotation::apply(site, id)?;
    Ok(json!({
        "status": match applied.when {
            When::Now => "applied",
            When::Before => "already_applied",
        },
        "archive": applied.archive,
        "log_size": applied.size,
        "applied_at": format_rfc3339_seconds(applied.at).to_string(),
    }))
}

//! `log_rotate_plan`: what a rotation would do, for a person to see.

use humantime::format_rfc3339_seconds;
use serde_json::{Map, Value, json};

use super::{Tool, closed};
use crate::{
    arguments::Arguments,
    logs::SHOWN,
    protocol::Call,
    refusal::Refusal,
    rotation::{self, ARCHIVES, PLAN_LIVES},
    site::Site,
};

pub(super) const TOOL: Tool = Tool { name: "log_rotate_plan", definition, call };

fn definition() -> Value {
    json!({
        "name": "log_rotate_plan",
        "title": "Plan a rotation of the log",
        "description": format!(
            "Says what log_rotate_apply would do: which archive app/logs/app.log would become. Changes nothing but the server's own record. Show \
            `action` to a person before you apply the plan. It lives {} minutes and holds for the log as it is now: a log that is \
            written to in between needs a new plan. There are at most {ARCHIVES} archives, and none is ever deleted or overwritten.",
            PLAN_LIVES.as_secs() / 60
        ),
        "inputSchema": {"type": "object", "properties": {}, "additionalProperties": false},
        "outputSchema": closed(json!({
            "plan_id": plan_id(),
            "log_size": {"type": "integer", "minimum": 1, "description": "Bytes of the log."},
            "archive": {"type": "string", "description": "The archive's name, beside the log."},
            "action": {"type": "string", "description": "What will be done, for a person."},
            "expires_at": {"type": "string", "description": "UTC, as RFC 3339 writes it."},
        })),
        "annotations": {"readOnlyHint": true, "destructiveHint": false, "idempotentHint": false, "openWorldHint": false},
    })
}

fn call(site: &Site, arguments: &Map<String, Value>, _: &Call) -> Result<Value, Refusal> {
    Arguments::new(arguments, &[])?;
    let plan = rotation::plan(site)?;
    let mut action = format!(
        "rename {SHOWN} ({} bytes) to app/logs/{} and create an empty {SHOWN}; nothing is deleted, and a program that \
         has the log open writes to the archive until it opens the log again",
        plan.size, plan.archive
    );
    if let Some(name) = plan.kept_aside {
        action.push_str(&format!("; an earlier record of plans was damaged and is kept as {name}"));
    }
    Ok(json!({
        "plan_id": plan.id,
        "log_size": plan.size,
        "archive": plan.archive,
        "action": action,
        "expires_at": format_rfc3339_seconds(plan.expires).to_string(),
    }))
}

/// The schema of a plan's id.
pub(super) fn plan_id() -> Value {
    json!({"type": "string", "pattern": format!("^[0-9a-f]{{{}}}$", rotation::ID_DIGITS)})
}

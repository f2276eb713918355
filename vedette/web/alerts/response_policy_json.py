"""Serializes the decisions of response policies as JSON (docs/notifications.md#response)."""

from typing import Any

from vedette.state.jobs.responses import Response
from vedette.web.json.wire_values import instant


def response_body(one: Response) -> dict[str, Any]:
    """Returns the decision for a detection and its outcome."""
    times = {"done": one.done_us, "ends": one.ends_us, "undone": one.undone_us}
    return {
        "id": one.id,
        "policy_id": one.policy_id,
        "policy_name": one.policy_name,
        "alert_id": one.detection_id,
        "state": one.state.name.lower(),
        "action": one.action,
        "subject": one.subject,
        "sensor_id": one.sensor_id,
        "rule_id": one.rule_id,
        "title": one.title,
        "created": instant(one.created_us),
        **{name: instant(time_us) if time_us else None for name, time_us in times.items()},
        "text": one.text,
    }

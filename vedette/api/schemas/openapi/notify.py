"""Answers about actions, the outbox, the application-control server and response by rule."""

from typing import Final

from vedette.api.schemas.openapi.terms import (
    FLAG,
    INTEGER,
    TEXT,
    TIME,
    Schema,
    alike,
    listing,
    nullable,
    record,
)

_SUCCESS: Final[dict[str, Schema]] = {"result": {"const": "success"}}
_APP_CONTROL: Final[dict[str, Schema]] = {
    "server_url": TEXT,
    **alike(("ssl_certificate_verify", "watchlist_export", "auth_token_set"), FLAG),
}
_POLICY: Final[dict[str, Schema]] = {
    **alike(("id", "hour_max", "expires_hours", "ban_hosts_max"), INTEGER),
    **alike(("name", "level", "username"), TEXT),
    "action": {"enum": ["isolate", "ban"]},
    "enabled": FLAG,
    **alike(("rule_ids", "hosts_never"), listing(TEXT)),
    "changed": TIME,
}

NOTIFY: Final[dict[str, Schema]] = {
    "ActionState": record({"action_type": TEXT, "enabled": FLAG}),
    "ActionEnabled": record({"enabled": FLAG}),
    "NewAction": record({"action_id": INTEGER}),
    "StoredAction": record(
        {
            **alike(("id", "action_type"), INTEGER),
            "action_data": TEXT,
            "enabled": FLAG,
            **alike(("watchlist_id", "group_id"), {"type": ["integer", "string"]}),
        }
    ),
    "OutboxTarget": record(
        {
            **alike(("target", "error"), TEXT),
            **alike(("waiting", "dead", "sent", "failures", "overflow"), INTEGER),
            **alike(
                ("last_sent", "failing_since", "next_attempt", "last_overflow"), nullable(TIME)
            ),
        }
    ),
    "OutboxMessage": record(
        {
            **alike(("id", "attempts"), INTEGER),
            **alike(("key", "target", "error", "body"), TEXT),
            "state": {"enum": ["waiting", "sent", "dead", "discarded"]},
            "action_id": nullable(INTEGER),
            **alike(("created", "changed"), TIME),
            "due": nullable(TIME),
        }
    ),
    "OutboxChange": record(_SUCCESS | {"count": INTEGER}),
    "ActionTrial": record(_SUCCESS | {"targets": listing(TEXT)}),
    "OutboxTrial": record(_SUCCESS | {"id": INTEGER}),
    "AppControl": record(_APP_CONTROL),
    "ChangedAppControl": record(_APP_CONTROL | _SUCCESS),
    "ResponsePolicy": record(_POLICY),
    "ChangedResponsePolicy": record(_POLICY | _SUCCESS),
    "RuleResponse": record(
        {
            **alike(("id", "policy_id", "sensor_id"), INTEGER),
            **alike(("policy_name", "alert_id", "subject", "rule_id", "title", "text"), TEXT),
            "state": {"enum": ["pending", "done", "skipped", "failed", "ended", "taken_over"]},
            "action": {"enum": ["isolate", "ban"]},
            "created": TIME,
            **alike(("done", "ends", "undone"), nullable(TIME)),
        }
    ),
}
"""Component name -> schema."""

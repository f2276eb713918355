"""Response schemas of actions, the outbox, the application-control server and automatic
response."""

from typing import Final

from vedette.web.json.terms import (
    FLAG,
    INTEGER,
    TEXT,
    TIME,
    Schema,
    alike,
    nullable,
    record,
)

_SUCCESS: Final[dict[str, Schema]] = {"result": {"const": "success"}}
_APP_CONTROL: Final[dict[str, Schema]] = {
    "server_url": TEXT,
    **alike(("ssl_certificate_verify", "watchlist_export", "auth_token_set"), FLAG),
}

NOTIFY: Final[dict[str, Schema]] = {
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
    "OutboxTrial": record(_SUCCESS | {"id": INTEGER}),
    "AppControl": record(_APP_CONTROL),
    "ChangedAppControl": record(_APP_CONTROL | _SUCCESS),
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
"""Maps component name to schema."""

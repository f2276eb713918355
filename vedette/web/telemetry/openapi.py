"""Schemas of responses to senders and sensors, and of messages that sensors send."""

from typing import Any, Final

import msgspec

from vedette.web.json.terms import (
    FLAG,
    INTEGER,
    OBJECT,
    TEXT,
    Schema,
    alike,
    listing,
    nullable,
    record,
    reference,
)
from vedette.web.telemetry.bulk_response_json import ACTIONS
from vedette.web.telemetry.sensor_messages import Checkin, Enrolment, Offer

_COUNTS: Final = ("read", "stored", "records", "duplicate", "not_kept", "filtered", "rejected")


def _tuple(*items: Schema) -> Schema:
    """Returns the schema of an array with a fixed length."""
    return {
        "type": "array",
        "prefixItems": list(items),
        "items": False,
        "minItems": len(items),
    }


_ITEM: Final = record(
    {
        "_index": TEXT,
        "status": INTEGER,
        "result": {"enum": ["created", "noop"]},
        "error": record({"type": TEXT, "reason": TEXT}, ("type", "reason")),
    },
    ("_index", "status", "result", "error"),
)

_MESSAGES: Final = (Enrolment, Checkin, Offer)


def _messages() -> dict[str, Any]:
    """Returns schemas of sensor messages, derived from the types that decode them."""
    _, components = msgspec.json.schema_components(
        _MESSAGES, ref_template="#/components/schemas/{name}"
    )
    return dict(components)


TELEMETRY: Final[dict[str, Schema]] = {
    **_messages(),
    "InvalidMember": record(alike(("member", "message"), TEXT)),
    "RejectedRecord": record({"position": INTEGER, "reason": TEXT, "message": TEXT}),
    "IngestReceipt": record(
        {
            **alike((*_COUNTS, "conflicts", "errors_left_out"), INTEGER),
            "errors": listing(reference("RejectedRecord")),
            "hosts": listing(_tuple(TEXT, INTEGER, INTEGER, INTEGER)),
            "tally": listing(_tuple(TEXT, INTEGER, TEXT, INTEGER)),
        },
        ("hosts",),
    ),
    "BulkReceipt": record(
        {
            "took": INTEGER,
            "errors": FLAG,
            "items": listing(record(alike(ACTIONS, _ITEM), ACTIONS)),
        },
        ("took", "errors", "items"),
    ),
    "Enrolled": record(
        {
            **alike(("sensor_id", "checkin_interval_s"), INTEGER),
            **alike(("key", "update_public_key"), TEXT),
        }
    ),
    "StoredBlock": record(
        {
            **alike(("acknowledged", "expected"), INTEGER),
            "rejected": listing(reference("RejectedRecord")),
        }
    ),
    "WantedFiles": record({"want": listing(record({"sha256": TEXT, "offset": INTEGER}))}),
    "ReceivedBytes": record({"received": INTEGER}),
    "OsqueryEnrolled": record({"node_key": TEXT, "node_invalid": FLAG}, ("node_key",)),
    "OsqueryQueries": record(
        {"queries": OBJECT, "discovery": OBJECT, "node_invalid": FLAG}, ("queries", "discovery")
    ),
    "Error": record(
        {
            "reason": TEXT | {"description": "A stable word for programs"},
            "message": TEXT | {"description": "A text for people"},
            **alike(("start", "end"), INTEGER | {"description": "Place of a query's fault"}),
            "node_invalid": FLAG | {"description": "osquery: enrol again"},
            "errors": listing({"anyOf": [reference("InvalidMember"), reference("RejectedRecord")]})
            | {"description": "All invalid members of a body, or rejected records of telemetry"},
        },
        ("start", "end", "node_invalid", "errors"),
    )
    | {"additionalProperties": True},
    "ElasticError": record(
        {
            **alike(("reason", "message"), TEXT),
            "status": INTEGER,
            "error": record(
                {
                    **alike(("type", "reason"), TEXT),
                    "root_cause": listing(record(alike(("type", "reason"), TEXT))),
                }
            ),
        }
    ),
    "Orders": record(
        {
            **alike(("checkin_interval_s", "server_time_us"), INTEGER),
            **alike(("isolate", "restart", "uninstall"), FLAG),
            "isolation_allow": listing(TEXT),
            **alike(("flush_before_us", "flush_number"), nullable(INTEGER)),
        }
    )
    | {"additionalProperties": True},
}
"""Maps component name to schema."""

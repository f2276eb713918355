"""OpenAPI schemas of forwarders."""

from collections.abc import Mapping
from typing import Final

from vedette.web.json.terms import (
    FLAG,
    INTEGER,
    OBJECT,
    TEXT,
    TIME,
    Schema,
    alike,
    listing,
    nullable,
    record,
    reference,
)

_BASE: Final = "/data_forwarder/v2/orgs/{org_key}/configs"
_ONE: Final = f"{_BASE}/{{forwarder_id}}"

_STREAM: Final = record(
    {
        "type": TEXT,
        "state": {"enum": ["working", "failing"]},
        "error": TEXT,
        **alike(("failures", "position", "records", "lost", "files"), INTEGER),
        **alike(("failed", "retry", "sent"), nullable(TIME)),
    }
)
_FORWARDER: Final[dict[str, Schema]] = {
    **alike(("id", "name", "query", "path", "schema", "format"), TEXT),
    "enabled": FLAG,
    "types": listing(TEXT),
    "destination": OBJECT | {"properties": {"kind": TEXT}, "required": ["kind"]},
    "interval_s": INTEGER,
    **alike(("created", "changed"), TIME),
    "streams": listing(_STREAM),
}

FORWARDERS: Final[dict[str, Schema]] = {
    "Forwarder": record(_FORWARDER),
    "Forwarders": record({"num_found": INTEGER, "results": listing(reference("Forwarder"))}),
    "ForwarderHealth": record({"healthy": FLAG, "error": TEXT}),
}
"""Maps component name to schema."""

FORWARDERS_ONE: Final[Mapping[tuple[str, str], str]] = {
    ("GET", _BASE): "Forwarders",
    ("POST", _BASE): "Forwarder",
    ("GET", _ONE): "Forwarder",
    ("PUT", _ONE): "Forwarder",
    ("DELETE", _ONE): "Success",
    ("POST", f"{_ONE}/healthcheck"): "ForwarderHealth",
}
"""Routes that return a single object."""

_CHANGE: Final[Schema] = {
    "type": "object",
    "properties": {
        **alike(("name", "query", "path", "schema", "format", "since"), TEXT),
        "enabled": FLAG,
        "types": listing(TEXT),
        "destination": OBJECT,
        "interval_s": INTEGER,
    },
    "additionalProperties": True,
}

FORWARDERS_BODIES: Final[Mapping[tuple[str, str], Schema]] = {
    ("POST", _BASE): _CHANGE | {"required": ["name", "types", "destination"]},
    ("PUT", _ONE): _CHANGE,
}
"""JSON bodies of requests by route."""

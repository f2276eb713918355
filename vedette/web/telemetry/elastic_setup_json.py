"""Responses to setup requests of senders with an Elasticsearch output.

Before they send, Beats, Logstash and others request the license, templates, policies and pipelines,
and create missing ones. This server claims that all of them exist, and acknowledges and discards
every change: it normalizes records by their own structure, not by a template. Responses to `_bulk`:
`web/telemetry/bulk_response_json.py`.
"""

from typing import Any, Final

from starlette.responses import Response

from vedette.web.http.error_responses import ELASTIC_HEADERS
from vedette.web.http.responses import json_answer

ELASTIC_VERSION: Final = "9.99.0"
"""Announced version of Elasticsearch. Senders refuse a version older than their own."""

INDEX: Final = "vedette"
"""Index in every response; the index of a request has no meaning."""

HANDSHAKE: Final[dict[str, Any]] = {
    "name": "vedette",
    "cluster_name": "vedette",
    "cluster_uuid": "dmVkZXR0ZS1lZHItc2luaw",
    "version": {
        "number": ELASTIC_VERSION,
        "build_flavor": "default",
        "build_type": "docker",
        "build_hash": "0000000000000000000000000000000000000000",
        "build_date": "2025-01-01T00:00:00.000000000Z",
        "build_snapshot": False,
        "lucene_version": "10.0.0",
        "minimum_wire_compatibility_version": "8.18.0",
        "minimum_index_compatibility_version": "8.0.0",
    },
    "tagline": "You Know, for Search",
}

_LICENSE: Final = {
    "uid": "00000000-0000-0000-0000-000000000000",
    "type": "basic",
    "mode": "basic",
    "status": "active",
    "issued_to": "vedette",
}

LICENSE: Final[dict[str, Any]] = {"license": _LICENSE}

XPACK: Final[dict[str, Any]] = {
    "license": _LICENSE,
    "features": {"ilm": {"available": True, "enabled": True}},
    "tagline": "You know, for X",
}

CLUSTER_HEALTH: Final[dict[str, Any]] = {
    "cluster_name": "vedette",
    "status": "green",
    "timed_out": False,
    "number_of_nodes": 1,
    "number_of_data_nodes": 1,
    "active_primary_shards": 1,
    "active_shards": 1,
    "relocating_shards": 0,
    "initializing_shards": 0,
    "unassigned_shards": 0,
}

ACKNOWLEDGED: Final[dict[str, Any]] = {
    "acknowledged": True,
    "shards_acknowledged": True,
    "index": INDEX,
}


def elastic_answer(body: dict[str, Any], status: int = 200) -> Response:
    """Returns JSON with the product header that Elasticsearch clients require."""
    return json_answer(body, status, ELASTIC_HEADERS)


def elastic_text(text: str) -> Response:
    return Response(text, headers=dict(ELASTIC_HEADERS), media_type="text/plain")

"""What senders with an Elasticsearch output read: answers to their set-up calls.

Beats, Logstash and others ask for the licence, templates, policies and pipelines before they
send, and create what is missing. Here everything exists already and every change is
acknowledged; nothing is kept of it, because records are normalised by what they are, not by the
sender's template. The answers to `_bulk` are in `api/schemas/bulk_response.py`.
"""

from typing import Any, Final

from starlette.responses import Response

from vedette.api.http.error_responses import ELASTIC_HEADERS
from vedette.api.http.responses import json_answer

ELASTIC_VERSION: Final = "9.99.0"
"""Senders refuse a server older than they are."""

INDEX: Final = "vedette"
"""The index every answer names; the one in the request only routes."""

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
    """JSON with the header without which clients refuse the server."""
    return json_answer(body, status, ELASTIC_HEADERS)


def elastic_text(text: str) -> Response:
    return Response(text, headers=dict(ELASTIC_HEADERS), media_type="text/plain")

"""Setup requests of senders; see `web/telemetry/elastic_setup_json.py`.

The last route matches `/{index}` for any index, so this router is the last of `app.ROUTERS`.
"""

from collections.abc import Callable
from typing import Any, Final

from fastapi import Request
from starlette.responses import Response

from vedette.errors import NotFoundError
from vedette.web.http.error_responses import ELASTIC_TAG
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.telemetry.elastic_setup_json import (
    ACKNOWLEDGED,
    CLUSTER_HEALTH,
    LICENSE,
    XPACK,
    elastic_answer,
    elastic_text,
)

router = Router(tags=[ELASTIC_TAG])


async def license_of_sink() -> Response:
    return elastic_answer(LICENSE)


async def xpack() -> Response:
    return elastic_answer(XPACK)


async def cluster(request: Request, rest: str) -> Response:
    return elastic_answer(CLUSTER_HEALTH) if rest.startswith("health") else _exists(request)


async def cat(rest: str) -> Response:
    return elastic_text("vedette green\n" if rest.startswith("health") else "")


async def named(request: Request, rest: str) -> Response:  # noqa: ARG001 - any name exists
    return _exists(request)


async def index(request: Request, index: str) -> Response:
    """Claims that any index exists, for senders that check it with HEAD or create it. GET returns
    404, because reading an index indicates a wrong path."""
    if request.method == "GET":
        raise NotFoundError(f"/{index[:100]} not found: docs/http-api.md lists the routes")
    return _exists(request)


def _exists(request: Request) -> Response:
    return elastic_answer(ACKNOWLEDGED if request.method == "PUT" else {})


READ: Final = ("GET", "HEAD")
READ_OR_PUT: Final = ("GET", "HEAD", "PUT")

SETUP_CALLS: Final[tuple[tuple[str, tuple[str, ...], Callable[..., Any], str], ...]] = (
    ("/_license", ("GET",), license_of_sink, "Licence, as senders ask for it"),
    ("/_xpack", ("GET",), xpack, "Features, as senders ask for them"),
    ("/_cluster/{rest:path}", READ_OR_PUT, cluster, "Health and settings of the sink"),
    ("/_cat/{rest:path}", READ, cat, "Health of the sink, as text"),
    ("/_ilm/{rest:path}", READ_OR_PUT, named, "Lifecycle policies: all exist"),
    ("/_index_template/{rest:path}", READ_OR_PUT, named, "Index templates: all exist"),
    ("/_component_template/{rest:path}", READ_OR_PUT, named, "Component templates: all exist"),
    ("/_template/{rest:path}", READ_OR_PUT, named, "Old templates: all exist"),
    ("/_ingest/{rest:path}", READ_OR_PUT, named, "Ingest pipelines: all exist"),
    ("/_data_stream/{rest:path}", READ_OR_PUT, named, "Data streams: all exist"),
    ("/_alias/{rest:path}", READ_OR_PUT, named, "Aliases: all exist"),
    ("/{index}", READ_OR_PUT, index, "An index: any exists"),
)
"""Path, methods, handler and summary of each route."""

for _path, _methods, _handler, _summary in SETUP_CALLS:
    for _method in _methods:
        router.add(_method, _path, _handler, right=Right.SEND, summary=_summary)

"""`GET /` and `GET /api/info`: identification of the server.

`/` has two kinds of callers: senders with an Elasticsearch output make their handshake there
(docs/telemetry-formats.md#protocols), browsers are redirected to the pages.
"""

from typing import Annotated, Any, Final

from fastapi import Depends, Request
from starlette.responses import RedirectResponse, Response

from vedette import limits
from vedette.api.http.access import accepts_html
from vedette.api.http.error_responses import ELASTIC_TAG
from vedette.api.http.responses import json_answer
from vedette.api.http.router import Router
from vedette.api.schemas.elastic_setup import HANDSHAKE, elastic_answer
from vedette.api.services import Services, services
from vedette.state.sensors import installers

SERVED_VERSION: Final = "7.7.1.230308"
"""Release of the API that clients see. From 6.1 on they use event route v4 and group v3,
and they parse it as a PEP 440 version (docs/clients.md#transport-and-errors)."""

INFO: Final[dict[str, Any]] = {
    "version": SERVED_VERSION,
    "version_release": "7.7.1-1",
    "cblrEnabled": False,
    "linuxInstallerExists": True,
    "banningEnabled": True,
    "maxSearchResultRows": limits.ROWS_MAX,
    "maxRowsSolrReportQuery": limits.ROWS_MAX,
    "processPageSize": 10,
    "binaryPageSize": 10,
    "features": {},
}
"""`cblrEnabled` false keeps clients from asking for live response, which is not offered."""

router = Router()


@router.head("/", tags=[ELASTIC_TAG], summary="Handshake of senders")
@router.get("/", tags=[ELASTIC_TAG], summary="Handshake of senders")
async def root(request: Request) -> Response:
    """The Elasticsearch handshake; a redirect for browsers."""
    if accepts_html(request):
        return RedirectResponse("/ui/", status_code=303)
    return elastic_answer(HANDSHAKE)


@router.get("/api/info", tags=["server"], summary="Version and abilities of the server")
def info(here: Annotated[Services, Depends(services)]) -> Response:
    """What clients request first, to choose their routes. There is an OS X installer once a
    package is registered for it; the Linux one needs none."""
    has_osx = any(one.os == "osx" for one in installers.all_installers(here.database))
    return json_answer({**INFO, "osxInstallerExists": has_osx})

"""`GET /` and `GET /api/info`: identification of the server.

`/` has two kinds of callers: senders with an Elasticsearch output make their handshake there
(docs/telemetry-formats.md#protocols), browsers are redirected to the console.
"""

from typing import Annotated, Any, Final

from fastapi import Depends, Request
from starlette.responses import RedirectResponse, Response

from vedette import limits
from vedette.state.sensors import installers
from vedette.web.http.access import accepts_html
from vedette.web.http.error_responses import ELASTIC_TAG
from vedette.web.http.responses import json_answer
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.services import Services, services
from vedette.web.telemetry.elastic_setup_json import HANDSHAKE, elastic_answer

SERVED_VERSION: Final = "7.7.1.230308"
"""Release of the API that clients see. From 6.1 on they use event route v4 and group v3, and they
parse it as a PEP 440 version (docs/clients.md#transport-and-errors)."""

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
"""`cblrEnabled` false keeps clients from requesting live response, which is not available."""

router = Router()


@router.head("/", right=Right.HANDSHAKE, tags=[ELASTIC_TAG], summary="Handshake of senders")
@router.get("/", right=Right.HANDSHAKE, tags=[ELASTIC_TAG], summary="Handshake of senders")
async def root(request: Request) -> Response:
    """Returns the Elasticsearch handshake, or a redirect for browsers."""
    if accepts_html(request):
        return RedirectResponse("/ui/", status_code=303)
    return elastic_answer(HANDSHAKE)


@router.get(
    "/api/info", right=Right.READ, tags=["server"], summary="Get version and features of the server"
)
def info(here: Annotated[Services, Depends(services)]) -> Response:
    """Returns the version and features that clients request first to choose their routes.
    `osxInstallerExists` is true once a package is registered; the Linux installer needs none."""
    has_osx = any(one.os == "osx" for one in installers.all_installers(here.database))
    return json_answer({**INFO, "osxInstallerExists": has_osx})

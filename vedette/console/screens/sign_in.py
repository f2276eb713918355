"""The sign-in. The form speaks to the API; this is only the page around it."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from vedette.api.http.pages import PAGE_TAG
from vedette.console.render import render
from vedette.limits import NEXT_CHARS_MAX

router = APIRouter(tags=[PAGE_TAG], include_in_schema=False)


@router.get("/ui/sign-in", summary="Sign in")
async def sign_in(request: Request) -> Response:
    wanted = request.query_params.get("next", "")
    return render(request, "screens/sign_in.html", next=own_path(wanted))


def own_path(text: str) -> str:
    """A path of the console to go on to; the home page for anything else."""
    is_own = text.startswith("/ui/") and len(text) <= NEXT_CHARS_MAX
    is_plain = text.isprintable() and "\\" not in text and not text.startswith("/ui/sign-in")
    return text if is_own and is_plain else "/ui/"

"""What a user keeps: preferences, saved searches, links to views, and exports of them."""

import json
from typing import Annotated, Any, Final

import orjson
from fastapi import Depends
from starlette.responses import Response

from vedette import limits
from vedette.api.http.access import principal_of
from vedette.api.http.request_bodies import json_object
from vedette.api.http.responses import json_answer
from vedette.api.http.router import Router
from vedette.api.schemas.body_members import Members
from vedette.api.schemas.parameters import ID_MAX, bounded_number
from vedette.api.schemas.wire_values import instant
from vedette.api.services import Services, services
from vedette.errors import BadRequestError, NotFoundError
from vedette.model.principal import Principal
from vedette.state.accounts import audit_trail, kept_views
from vedette.state.accounts.kept_views import SavedSearch
from vedette.state.accounts.users import id_of
from vedette.state.db.audit_log import Entry

router = Router(tags=["sessions"])

Here = Annotated[Services, Depends(services)]
Caller = Annotated[Principal, Depends(principal_of)]
Body = Annotated[dict[str, Any], Depends(json_object)]

_DAY_US: Final = 24 * 3600 * 1_000_000


@router.get("/api/v1/me/preferences", summary="One's preferences")
def preferences(here: Here, caller: Caller) -> Response:
    """What the console stored, unchanged."""
    with here.database.reading() as connection:
        body = kept_views.preferences(connection, id_of(here.database, caller.name))
    return json_answer(orjson.loads(body))


@router.put("/api/v1/me/preferences", summary="Set one's preferences")
def set_preferences(here: Here, caller: Caller, body: Body) -> Response:
    """The object replaces the earlier one. The answer is the object."""
    text = json.dumps(body, separators=(",", ":"))
    if len(text) > limits.PREFERENCES_CHARS_MAX:
        raise BadRequestError(f"at most {limits.PREFERENCES_CHARS_MAX:,} characters of JSON")
    user_id = id_of(here.database, caller.name)
    with here.database.writing() as connection:
        kept_views.set_preferences(connection, user_id, text, here.clock.now_us())
    return json_answer(body)


@router.get("/api/v1/saved_search", summary="Saved searches")
def searches(here: Here, caller: Caller) -> Response:
    """The caller's, and those that others share, by name."""
    with here.database.reading() as connection:
        found = kept_views.searches(connection, id_of(here.database, caller.name))
    return json_answer([_search_body(one) for one in found])


@router.post("/api/v1/saved_search", summary="Save a search")
def save_search(here: Here, caller: Caller, body: Body) -> Response:
    """Takes `name`, `view` (the screen), `params` (the query string of its address) and `shared`;
    a shared one is read by every user with its name and text, and finds what each may see."""
    members = Members(body, known=("name", "view", "params", "shared"), of="a search")
    name = (members.text("name") or "").strip()
    if not name or len(name) > limits.SAVED_SEARCH_NAME_CHARS_MAX:
        raise BadRequestError(f"name: from 1 to {limits.SAVED_SEARCH_NAME_CHARS_MAX} characters")
    view, params = _view(members, body)
    user_id = id_of(here.database, caller.name)
    with here.database.writing() as connection:
        made = kept_views.add_search(
            connection, user_id, name, view, params,
            shared=members.flag("shared") or False, now_us=here.clock.now_us(),
        )  # fmt: skip
    return json_answer(_search_body(made))


@router.delete("/api/v1/saved_search/{search_id}", summary="Delete a saved search")
def remove_search(search_id: str, here: Here, caller: Caller) -> Response:
    """One of the caller's."""
    try:
        number = bounded_number("search_id", search_id, most=ID_MAX)
    except BadRequestError:
        raise NotFoundError(f"there is no search {search_id[:40]!r}") from None
    user_id = id_of(here.database, caller.name)
    with here.database.writing() as connection:
        kept_views.remove_search(connection, user_id, number)
    return json_answer({"result": "success"})


@router.post("/api/v1/permalink", summary="A short link to a view")
def link(here: Here, caller: Caller, body: Body) -> Response:
    """Takes `view` and `params`, for views whose address is too long to send. It ends after
    `permalink_days` of the settings."""
    view, params = _view(Members(body, known=("view", "params"), of="a link"), body)
    user_id, now_us = id_of(here.database, caller.name), here.clock.now_us()
    with here.database.writing() as connection:
        ttl_us = here.settings.permalink_days * _DAY_US
        made = kept_views.add_permalink(connection, user_id, view, params, now_us, ttl_us)
    return json_answer({"id": made.id, "expires": instant(made.expires_us)})


@router.get("/api/v1/permalink/{link_id}", summary="The view of a short link")
def linked(link_id: str, here: Here) -> Response:
    """The reader's own permissions decide what it shows."""
    with here.database.reading() as connection:
        found = kept_views.permalink(connection, link_id, here.clock.now_us())
    return json_answer(
        {
            "id": found.id,
            "view": found.view,
            "params": found.params,
            "made": instant(found.made_us),
            "expires": instant(found.expires_us),
        }
    )


@router.post("/api/v1/export", summary="Note an export")
def note_export(here: Here, body: Body) -> Response:
    """Writes into the audit log that the caller takes all that a view shows as a file. Takes
    `view` and `params`, `format` (jsonl, csv or parquet) and, where that is known, how many `rows`.
    The console asks for it before it hands a file over; so should a program that exports."""
    members = Members(body, known=("view", "params", "format", "rows"), of="an export")
    view, params = _view(members, body)
    form = members.text("format")
    if form not in ("jsonl", "csv", "parquet"):
        raise BadRequestError("format: must be jsonl, csv or parquet")
    details: dict[str, Any] = {"params": params, "format": form}
    if "rows" in body:
        details["rows"] = bounded_number("rows", body["rows"], most=ID_MAX)
    audit_trail.record(here.database, Entry("read", "export", view, after=details))
    return json_answer({"result": "success"})


def _view(members: Members, body: dict[str, Any]) -> tuple[str, str]:
    view, params = members.text("view") or "", body.get("params") or ""
    if not (
        view.isascii()
        and view.replace("_", "").isalnum()
        and len(view) <= limits.SCREEN_NAME_CHARS_MAX
    ):
        raise BadRequestError("view: must be the name of a screen")
    if not isinstance(params, str) or len(params) > limits.SAVED_SEARCH_CHARS_MAX:
        raise BadRequestError(
            f"params: text of at most {limits.SAVED_SEARCH_CHARS_MAX:,} characters"
        )
    return view, params


def _search_body(one: SavedSearch) -> dict[str, Any]:
    return {
        "id": one.id,
        "username": one.username,
        "name": one.name,
        "view": one.view,
        "params": one.params,
        "shared": one.shared,
        "changed": instant(one.changed_us),
    }

"""Routes of a user's stored data: preferences, saved searches and short links; and of the record of
exports."""

import json
from typing import Annotated, Any, Final

import orjson
from fastapi import Depends
from starlette.responses import Response

from vedette.errors import BadRequestError, NotFoundError
from vedette.limits import Limit
from vedette.model.principal import Principal
from vedette.model.rights.authorization import Deed, owned_by, require
from vedette.record.answers import many, to_json
from vedette.record.bodies import Request as Empty
from vedette.record.bodies import Sent
from vedette.record.objects.kept_view import (
    EXPORT,
    NEW_SEARCH,
    PERMALINK,
    SAVED_SEARCH,
    VIEW,
    Export,
    SavedSearch,
    View,
)
from vedette.state.accounts import audit_trail, kept_views
from vedette.state.accounts.users import id_of
from vedette.state.db.audit_log import Entry
from vedette.web.http.access import principal_of
from vedette.web.http.bodies.declared_bodies import json_body
from vedette.web.http.bodies.request_bodies import json_object
from vedette.web.http.responses import json_answer
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.services import Services, services
from vedette.web.json.parameters import ID_MAX, bounded_number
from vedette.web.json.wire_values import instant

PREFERENCES_CHARS_MAX: Limit[int] = 16 * 1024
"""Maximum characters of a user's preferences as JSON. The columns of a dozen lists take 4 kB."""


router = Router(tags=["sessions"])

Here = Annotated[Services, Depends(services)]
Caller = Annotated[Principal, Depends(principal_of)]
Body = Annotated[dict[str, Any], Depends(json_object)]

_DAY_US: Final = 24 * 3600 * 1_000_000


@router.get("/api/v1/me/preferences", right=Right.READ, summary="Get the caller's preferences")
def preferences(here: Here, caller: Caller) -> Response:
    """Returns the object that the console stored, unchanged."""
    with here.database.reading() as connection:
        body = kept_views.preferences(connection, id_of(here.database, caller.name))
    return json_answer(orjson.loads(body))


@router.put("/api/v1/me/preferences", right=Right.READ, summary="Replace the caller's preferences")
def set_preferences(here: Here, caller: Caller, body: Body) -> Response:
    """Replaces the stored object. Returns the new object."""
    text = json.dumps(body, separators=(",", ":"))
    if len(text) > PREFERENCES_CHARS_MAX:
        raise BadRequestError(f"at most {PREFERENCES_CHARS_MAX:,} characters of JSON")
    user_id = id_of(here.database, caller.name)
    with here.database.writing() as connection:
        kept_views.set_preferences(connection, user_id, text, here.clock.now_us())
    return json_answer(body)


@router.get(
    "/api/v1/saved_search",
    right=Right.READ,
    summary="List saved searches",
    response_model=many(SAVED_SEARCH),
)
def searches(here: Here, caller: Caller) -> Response:
    """Returns the caller's saved searches and those that others share, by name."""
    with here.database.reading() as connection:
        found = kept_views.searches(connection, id_of(here.database, caller.name))
    return json_answer([to_json(one) for one in found])


@router.post(
    "/api/v1/saved_search",
    right=Right.READ,
    summary="Save a search",
    response_model=SAVED_SEARCH,
)
def save_search(
    here: Here, caller: Caller, body: Annotated[Sent[Empty], Depends(json_body(NEW_SEARCH))]
) -> Response:
    """Saves a search and returns the record. Every user can read the name and the query of a shared
    search; its results depend on the reader's own permissions."""
    user_id, now_us = id_of(here.database, caller.name), here.clock.now_us()
    new = SavedSearch(**body.values, user_id=user_id, changed_us=now_us)
    with here.database.writing() as connection:
        made = kept_views.add_search(connection, new)
    return json_answer(to_json(made))


@router.delete(
    "/api/v1/saved_search/{search_id}", right=Right.READ, summary="Delete a saved search"
)
def remove_search(search_id: str, here: Here, caller: Caller) -> Response:
    """Deletes a search of the caller. Global administrators can also delete shared searches of
    others."""
    try:
        number = bounded_number("search_id", search_id, most=ID_MAX)
    except BadRequestError:
        raise NotFoundError(f"search {search_id[:40]!r} not found") from None
    user_id = id_of(here.database, caller.name)
    with here.database.writing() as connection:
        seen = {one.id: one for one in kept_views.searches(connection, user_id)}
        if number not in seen:
            raise NotFoundError(f"search {number} not found")
        require(caller, Deed.CHANGE_SAVED_SEARCH, owned_by(seen[number].username))
        kept_views.remove_search(connection, number)
    return json_answer({"result": "success"})


@router.post("/api/v1/permalink", right=Right.READ, summary="Create a short link to a view")
def link(here: Here, caller: Caller, body: Annotated[View, Depends(json_body(VIEW))]) -> Response:
    """Creates a link to a view whose address is too long to send. Returns its id and expiry: the
    setting `permalink_days` determines its lifetime."""
    user_id, now_us = id_of(here.database, caller.name), here.clock.now_us()
    with here.database.writing() as connection:
        ttl_us = here.settings.permalink_days * _DAY_US
        made = kept_views.add_permalink(connection, user_id, body.view, body.params, now_us, ttl_us)
    return json_answer({"id": made.id, "expires": instant(made.expires_us)})


@router.get(
    "/api/v1/permalink/{link_id}",
    right=Right.READ,
    summary="Get the view of a short link",
    response_model=PERMALINK,
)
def linked(link_id: str, here: Here) -> Response:
    """Returns the view. The reader's own permissions determine its contents."""
    with here.database.reading() as connection:
        found = kept_views.permalink(connection, link_id, here.clock.now_us())
    return json_answer(to_json(found))


@router.post(
    "/api/v1/export",
    right=Right.READ,
    reads=True,
    is_noted=True,
    summary="Record an export in the audit log",
)
def note_export(here: Here, body: Annotated[Export, Depends(json_body(EXPORT))]) -> Response:
    """Writes an audit entry: the caller exports all rows of a view as a file. The console calls
    this before each download; programs that export should do so too."""
    details: dict[str, Any] = {"params": body.params, "format": body.format}
    if body.rows is not None:
        details["rows"] = body.rows
    audit_trail.record(here.database, Entry("read", "export", body.view, after=details))
    return json_answer({"result": "success"})

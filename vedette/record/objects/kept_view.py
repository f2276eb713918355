"""Objects that users store for the console: named searches, and links that are too long to send."""

from dataclasses import dataclass
from typing import Annotated, Final, Literal

from pydantic import Field, StringConstraints

from vedette import limits
from vedette.limits import Limit
from vedette.record.answers import answer_model
from vedette.record.bodies import RecordBody, Request, RequestBody
from vedette.record.kinds import (
    DATABASE_ID_MAX,
    Flag,
    Instant,
    null_means,
    number,
    short_name,
    text,
)
from vedette.record.member import Access, Member

SAVED_SEARCH_NAME_CHARS_MAX: Limit[int] = 200
"""Maximum characters of the name of a search."""

SCREEN_NAME_CHARS_MAX: Limit[int] = 59
"""Maximum characters of the name of a screen."""

_READ_ONLY: Final = Access.READ_ONLY
_FIXED: Final = Access.AT_CREATION

_Screen = Annotated[
    str,
    StringConstraints(
        strict=True, pattern="^_*[A-Za-z0-9][A-Za-z0-9_]*$", max_length=SCREEN_NAME_CHARS_MAX
    ),
]
_Text = Annotated[str, text(limits.SAVED_SEARCH_CHARS_MAX)]
_Params = Annotated[_Text, null_means("", _Text)]
_VIEW_MEANING: Final = "The screen, such as `process`"
_PARAMS_MEANING: Final = "The query string of the screen's address"


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedSearch:
    """A stored search of a user, optionally shared."""

    id: Annotated[int, Member("Search id", _READ_ONLY)] = 0
    user_id: Annotated[int, Member("The user who saved the search", Access.HIDDEN)] = 0
    username: Annotated[str, Member("Owner of the search", _READ_ONLY, stored=False)] = ""
    name: Annotated[str, short_name(SAVED_SEARCH_NAME_CHARS_MAX), Member("Name in lists", _FIXED)]
    view: Annotated[_Screen, Member(_VIEW_MEANING, _FIXED)]
    params: Annotated[_Params, Member(_PARAMS_MEANING, _FIXED)] = ""
    shared: Annotated[
        Flag, null_means(False, Flag), Member("Whether every user sees the search", _FIXED)
    ] = False
    changed_us: Annotated[Instant, Member("Time of saving", _READ_ONLY, "changed")] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Permalink:
    """A link that opens a view by a short id."""

    id: Annotated[str, Member("Id in the link address", _READ_ONLY)]
    view: Annotated[str, Member(_VIEW_MEANING, _READ_ONLY)]
    params: Annotated[str, Member(_PARAMS_MEANING, _READ_ONLY)]
    made_us: Annotated[Instant, Member("Creation time", _READ_ONLY, "made")]
    expires_us: Annotated[Instant, Member("Expiry time", _READ_ONLY, "expires")]


class View(Request):
    """A console screen with its parameters."""

    view: Annotated[_Screen, Field(description=_VIEW_MEANING)]
    params: Annotated[_Params, Field(description=_PARAMS_MEANING)] = ""


class Export(View):
    """An export of all rows of a view."""

    format: Annotated[Literal["jsonl", "csv", "parquet"], Field(description="File format")]
    rows: Annotated[
        Annotated[int, number(0, DATABASE_ID_MAX)] | None,
        Field(description="Number of rows, if known"),
    ] = None


SAVED_SEARCH: Final = answer_model(SavedSearch)
PERMALINK: Final = answer_model(Permalink)
NEW_SEARCH: Final = RecordBody("NewSavedSearch", SavedSearch, Request, creates=True)
VIEW: Final = RequestBody(View)
EXPORT: Final = RequestBody(Export)

"""Columns and facets of the process list: their order and visibility per reader, and cell
contents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from vedette.model.findings.tag import TAGS
from vedette.search.processes.process_columns import Row
from vedette.state.accounts import kept_views, users
from vedette.state.db.database import Database
from vedette.store.read.binaries import Standing

COLUMNS: Final = (
    "hostname",
    "username",
    "process_name",
    "standing",
    "hits",
    "parent_name",
    "cmdline",
    "counts",
)
"""Columns after the start time, which is always first, in default order."""

_CALLED: Final = {"parent": "parent_name"}
"""Maps former column names in stored preferences to current names."""


@dataclass(frozen=True, slots=True)
class Arranged:
    """All columns and all facets in the reader's order, and the hidden ones."""

    columns: tuple[str, ...]
    hidden_columns: frozenset[str]
    facets: tuple[str, ...]
    hidden_facets: frozenset[str]

    @property
    def shown_facets(self) -> tuple[str, ...]:
        return tuple(one for one in self.facets if one not in self.hidden_facets)


def arranged_by(database: Database, name: str, facets: Sequence[str]) -> Arranged:
    """Returns the arrangement that a reader chose. `facets` lists all facets in default order."""
    with database.reading() as connection:
        body = orjson.loads(kept_views.preferences(connection, users.id_of(database, name)))
    return arranged(body if isinstance(body, dict) else {}, facets)


def arranged(kept: Mapping[str, Any], facets: Sequence[str]) -> Arranged:
    """Parses stored preferences, which are untrusted. Values are names separated by spaces: the
    order of columns, hidden columns, and the order of facets, with a minus sign before hidden
    facets."""
    hidden = {_CALLED.get(one, one) for one in _words(kept.get("hidden"))} - {"process_name"}
    chosen = _words(kept.get("facets"))
    names = [one.removeprefix("-") for one in chosen]
    left = frozenset(one[1:] for one in chosen if one.startswith("-") and one[1:] in facets)
    return Arranged(
        in_order(_words(kept.get("columns")), COLUMNS),
        frozenset(hidden.intersection(COLUMNS)),
        in_order(names, facets),
        left,
    )


def in_order(chosen: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    """Returns all of `known`: the chosen names first, then the others in default order."""
    first = [one for one in dict.fromkeys(chosen) if one in known]
    return (*first, *(one for one in known if one not in first))


def _words(kept: object) -> list[str]:
    return kept.split() if isinstance(kept, str) else []


def hits_of(row: Row) -> tuple[list[str], list[str]]:
    """Returns the names of feeds and the ids of watchlists that a row has hits of."""
    tags = [(tag.family, tag.name) for tag in row[TAGS]]
    return (
        sorted({name for family, name in tags if family == "alliance"}),
        sorted({name for family, name in tags if family == "watchlist"}),
    )


def signature_class(known: Standing | None) -> str:
    """Returns the CSS class that shows the state of a program's signature."""
    if known is None or not known.signature:
        return "sig-unknown"
    if known.signature == "Signed":
        return "sig-signed"
    return "sig-unsigned" if known.signature == "Unsigned" else "sig-bad"

"""The columns and the facets of the process list: which a reader has and in which order, and what
a column says."""

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
    *("hostname", "username", "process_name", "standing", "hits"),
    *("parent_name", "cmdline", "counts"),
)
"""Behind the start, which is always first; in the order that they have for a new reader."""

_CALLED: Final = {"parent": "parent_name"}
"""Columns by what they were called when they were left out."""


@dataclass(frozen=True, slots=True)
class Arranged:
    """All columns and all facets in the order that a reader chose, and those that are left out."""

    columns: tuple[str, ...]
    hidden_columns: frozenset[str]
    facets: tuple[str, ...]
    hidden_facets: frozenset[str]

    @property
    def shown_facets(self) -> tuple[str, ...]:
        return tuple(one for one in self.facets if one not in self.hidden_facets)


def arranged_by(database: Database, name: str, facets: Sequence[str]) -> Arranged:
    """What a reader chose. `facets`: all that there are, in the usual order."""
    with database.reading() as connection:
        body = orjson.loads(kept_views.preferences(connection, users.id_of(database, name)))
    return arranged(body if isinstance(body, dict) else {}, facets)


def arranged(kept: Mapping[str, Any], facets: Sequence[str]) -> Arranged:
    """`kept` is what a browser kept, names between spaces, or anything: of columns the order and
    those left out, of facets the order, with a minus sign before those left out."""
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
    """All that are known: first those that were chosen, then the others in the usual order."""
    first = [one for one in dict.fromkeys(chosen) if one in known]
    return (*first, *(one for one in known if one not in first))


def _words(kept: object) -> list[str]:
    return kept.split() if isinstance(kept, str) else []


def hits_of(row: Row) -> tuple[list[str], list[str]]:
    """The feeds that a row has hits of, and the ids of its watchlists."""
    tags = [(tag.family, tag.name) for tag in row[TAGS]]
    return (
        sorted({name for family, name in tags if family == "alliance"}),
        sorted({name for family, name in tags if family == "watchlist"}),
    )


def signature_class(known: Standing | None) -> str:
    """How the signature of a program is shown."""
    if known is None or not known.signature:
        return "sig-unknown"
    if known.signature == "Signed":
        return "sig-signed"
    return "sig-unsigned" if known.signature == "Unsigned" else "sig-bad"

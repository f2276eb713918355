"""The columns of the process list: in which order a reader has them, and what one of them says."""

from typing import Final

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


def columns_of(database: Database, name: str) -> tuple[str, ...]:
    """All columns in the order that a reader chose; those they said nothing about come last."""
    with database.reading() as connection:
        body = orjson.loads(kept_views.preferences(connection, users.id_of(database, name)))
    return in_order(body.get("columns") if isinstance(body, dict) else None)


def in_order(chosen: object) -> tuple[str, ...]:
    """`chosen` is what a browser kept: names between spaces, or anything."""
    names = chosen.split() if isinstance(chosen, str) else []
    known = [one for one in dict.fromkeys(names) if one in COLUMNS]
    return (*known, *(one for one in COLUMNS if one not in known))


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

"""By which rules the servers judge commits, and which are in force.

Every server writes which generation of the rules it judges by. In force is what all that run
judge by: one that was ended stores nothing, and one that starts takes hosts after it has written
its generation (`servers/membership.py`). What is in force never goes back.
"""

from dataclasses import replace

from sqlalchemy import ColumnElement, Connection, func, select, update

from vedette.state.db.database import Database
from vedette.state.policy.rules import InForce, in_force_within, note_in_force_within
from vedette.state.servers.tables import COMMIT_COUNTER, SERVER


def note_judged(database: Database, noted: InForce) -> None:
    """Says what commits of this server are judged by, and what is in force by now. Repeat it:
    other servers begin and end. One that comes back with older rules than are in force says nothing
    before it has loaded newer ones."""
    with database.reading() as connection:
        if _is_said(connection, database.name, noted):
            return
        if noted.generation < in_force_within(connection).generation:
            return
    with database.writing() as connection:
        own = update(SERVER).where(_own(database.name))
        connection.execute(own.values(rules_generation=noted.generation))
        by_all = _by_all(connection)
        if by_all is None:
            note_in_force_within(connection, noted)
        elif by_all > in_force_within(connection).generation:
            newest = connection.scalar(select(COMMIT_COUNTER.c.newest)) or 0
            # A commit has its number before it is judged, so all later ones are judged by these.
            found = replace(noted, generation=by_all, seq=newest + 1)
            note_in_force_within(connection, found)


def _is_said(connection: Connection, name: str, noted: InForce) -> bool:
    by_all, known = _by_all(connection), in_force_within(connection)
    if by_all is None:
        return known == noted
    own = connection.scalar(select(SERVER.c.rules_generation).where(_own(name)))
    return own == noted.generation and by_all <= known.generation


def _by_all(connection: Connection) -> int | None:
    """The generation that all servers judge by at least. None where this one has no others."""
    found: int | None = connection.scalar(select(func.min(SERVER.c.rules_generation)))
    return found


def _own(name: str) -> ColumnElement[bool]:
    """The row of the server whose connections have this name (`server_list.connection_name`)."""
    return SERVER.c.id.startswith(f"{name}.", autoescape=True)

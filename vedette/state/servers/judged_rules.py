"""Generations of rules that servers judge commits by, and the generation in force.

Every server writes the generation that it judges by. The generation in force is the lowest of all
running servers: an ended server stores nothing, and a starting server takes hosts only after it has
written its generation (`servers/membership.py`). The generation in force never decreases.
"""

from dataclasses import replace

from sqlalchemy import ColumnElement, Connection, func, select, update

from vedette.state.db.database import Database
from vedette.state.policy.rules import InForce, in_force_within, note_in_force_within
from vedette.state.servers.tables import COMMIT_COUNTER, SERVER


def note_judged(database: Database, noted: InForce) -> None:
    """Records the generation that judges this server's commits, and updates the generation in
    force.

    Call repeatedly, since other servers start and end. A server that returns with rules older than
    those in force records nothing until it has loaded newer ones.
    """
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
            # A commit gets its number before it is judged, so this generation judges all later
            # commits.
            found = replace(noted, generation=by_all, seq=newest + 1)
            note_in_force_within(connection, found)


def _is_said(connection: Connection, name: str, noted: InForce) -> bool:
    by_all, known = _by_all(connection), in_force_within(connection)
    if by_all is None:
        return known == noted
    own = connection.scalar(select(SERVER.c.rules_generation).where(_own(name)))
    return own == noted.generation and by_all <= known.generation


def _by_all(connection: Connection) -> int | None:
    """Returns the lowest generation of all servers; None if this server has no others."""
    found: int | None = connection.scalar(select(func.min(SERVER.c.rules_generation)))
    return found


def _own(name: str) -> ColumnElement[bool]:
    """Returns the row condition of the server whose connections have this name
    (`server_list.connection_name`)."""
    return SERVER.c.id.startswith(f"{name}.", autoescape=True)

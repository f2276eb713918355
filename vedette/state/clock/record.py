"""Stores the last trusted clock reading, and an operator's confirmation of the time."""

import json
import secrets
from typing import Final

from vedette.state.clock.guard import Reading
from vedette.state.db.audit_log import Entry, note
from vedette.state.db.database import Database
from vedette.state.db.key_values import load, put, save

_READING: Final = "clock_reading"
_CONFIRMATION: Final = "clock_confirmation"


def load_reading(database: Database) -> Reading | None:
    """Returns the stored reading; None before the first `save_reading`."""
    value = load(database, _READING)
    return None if value is None else Reading(**json.loads(value))


def save_reading(database: Database, reading: Reading) -> None:
    """Stores a reading; durable on return."""
    value = {
        "wall_us": reading.wall_us,
        "elapsed_us": reading.elapsed_us,
        "boot_id": reading.boot_id,
    }
    save(database, _READING, json.dumps(value))


def confirm_clock(database: Database) -> None:
    """Confirms to the servers on this database that the current time is right."""
    with database.writing() as connection:
        put(connection, _CONFIRMATION, secrets.token_hex(8))
        note(connection, Entry("run", "clock", "confirm"))


def load_confirmation(database: Database) -> str:
    """Returns a value that changes with each `confirm_clock`; "" before the first."""
    return load(database, _CONFIRMATION) or ""

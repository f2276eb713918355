"""Progress of the search of stored telemetry for new indicators."""

from dataclasses import asdict, dataclass
from typing import Final

import orjson
from sqlalchemy import Connection, select, update

from vedette.state.db.database import Database, insert_new
from vedette.state.db.schema import VALUE

_NAME: Final = "indicator_past"


@dataclass(frozen=True, slots=True)
class PastSearch:
    """Indicator versions (`added`), and the window up to which the store was searched."""

    done: int = 0
    """Indicators up to this version were searched everywhere."""
    target: int = 0
    """The search covers indicators after `done` up to this version; equal to `done` if idle."""
    window_ms: int = 0

    @property
    def is_running(self) -> bool:
        return self.target > self.done


def load(database: Database) -> PastSearch:
    """Returns the last saved progress."""
    with database.reading() as connection:
        text = connection.scalar(select(VALUE.c.value).where(VALUE.c.name == _NAME))
    return PastSearch(**orjson.loads(text)) if text else PastSearch()


def save(connection: Connection, past: PastSearch) -> None:
    text = orjson.dumps(asdict(past)).decode()
    connection.execute(insert_new(connection, VALUE), {"name": _NAME, "value": text})
    connection.execute(update(VALUE).where(VALUE.c.name == _NAME).values(value=text))

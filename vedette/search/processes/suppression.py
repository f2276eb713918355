"""Suppression of processes without events other than module loads
(docs/api-objects.md#process-events).

Each sensor group has this setting, off by default (docs/api-processes.md). It applies when data is
read, not when it is stored, so it can be switched at any time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from vedette.model.event import Childproc
from vedette.model.scope import Scope
from vedette.search.processes.process_columns import Row
from vedette.store.engine.client import Engine
from vedette.store.read.relatives import facts_of
from vedette.store.sql.column_lists import COUNTS

_MODULES: Final = "modload_count"


@dataclass(frozen=True, slots=True)
class Suppression:
    """Names of the sensor groups that suppress processes without events."""

    groups: frozenset[str]

    def hides(self, row: Row) -> bool:
        """Whether a process is suppressed; `row` has the counts over all its segments."""
        return row["group"] in self.groups and only_loads_modules(row)

    def mark(self, engine: Engine, scope: Scope, events: Sequence[Childproc]) -> list[Childproc]:
        """Returns the events, with those of suppressed children flagged and completed with command
        line and user name."""
        if not self.groups or not events:
            return list(events)
        rows = facts_of(engine, list({event.child_id for event in events}), scope)
        return [self._marked(event, rows.get(event.child_id)) for event in events]

    def _marked(self, event: Childproc, row: Row | None) -> Childproc:
        if row is None or not self.hides(row):
            return event
        return msgspec.structs.replace(
            event,
            suppressed=1,
            command_line=event.command_line or row["cmdline"],
            username=event.username or row["username"],
        )


NOTHING_SUPPRESSED: Final = Suppression(frozenset())


def only_loads_modules(row: Row) -> bool:
    """Whether a process has no events except module loads."""
    return not any(row[name] for name in COUNTS if name != _MODULES)

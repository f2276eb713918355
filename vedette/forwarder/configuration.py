"""Adds and changes forwarders for the API, the command line and files."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, get_args

import orjson

from vedette.clock import Clock
from vedette.errors import BadRequestError
from vedette.forwarder.delivery import Destination
from vedette.forwarder.destinations import (
    DestinationRules,
    Members,
    check_secrets,
    checked_members,
    open_destination,
    same_place,
)
from vedette.forwarder.path_template import checked_template
from vedette.forwarder.record_source import RecordSource
from vedette.limits import Limit
from vedette.state.db.database import Database
from vedette.state.db.sealing import Sealing
from vedette.state.jobs import forwarders
from vedette.state.jobs.forwarders import FileFormat, Forwarder, RecordSchema, RecordType

FORWARD_INTERVAL_S_MAX: Limit[int] = 3_600
"""Seconds that the interval between files may have at most: files of an hour."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Settings of a forwarder to set. None keeps the value, or is the default for a new
    forwarder."""

    name: str | None = None
    enabled: bool | None = None
    types: tuple[str, ...] | None = None
    destination: Mapping[str, Any] | None = None
    """With the member `kind`."""
    query: str | None = None
    record_schema: str | None = None
    file_format: str | None = None
    path: str | None = None
    interval_s: int | None = None
    since_us: int | None = None
    """New types begin with the records that were made at this time; None: with those that are made
    from now on."""


@dataclass(frozen=True, slots=True)
class Forwarders:
    """The forwarders of a server. Safe to share between threads."""

    database: Database
    sealing: Sealing
    clock: Clock
    rules: DestinationRules
    sources: Mapping[RecordType, RecordSource] = field(default_factory=dict)

    def add(self, wanted: Wanted) -> Forwarder:
        """Adds a forwarder. Raises BadRequestError, QueryError, ConflictError."""
        if not wanted.types:
            raise BadRequestError(f"types: must be some of {', '.join(get_args(RecordType))}")
        if wanted.destination is None:
            raise BadRequestError("destination: must be given")
        empty = Forwarder(wanted.name or "", (), "directory", id=forwarders.new_id())
        made = self._changed(empty, wanted)
        return forwarders.add(
            self.database, made, self._starts(made, wanted.since_us), self.clock.now_us()
        )

    def change(self, forwarder_id: str, wanted: Wanted) -> Forwarder:
        """Changes a forwarder, with effect from the next file. Raises NotFoundError,
        BadRequestError, QueryError, ConflictError."""
        made = self._changed(forwarders.get(self.database, forwarder_id), wanted)
        return forwarders.change(
            self.database, made, self._starts(made, wanted.since_us), self.clock.now_us()
        )

    def open(self, forwarder: Forwarder) -> Destination:
        """Opens the destination of a forwarder. Raises UnavailableError if its secrets cannot be
        read."""
        return open_destination(
            forwarder.destination, forwarder.options, self._secrets(forwarder), self.rules
        )

    def _changed(self, before: Forwarder, wanted: Wanted) -> Forwarder:
        given = {
            "name": wanted.name,
            "enabled": wanted.enabled,
            "types": None if wanted.types is None else _types(wanted.types),
            "query": wanted.query,
            "record_schema": _one_of("schema", wanted.record_schema, get_args(RecordSchema)),
            "file_format": _one_of("format", wanted.file_format, get_args(FileFormat)),
            "path": None if wanted.path is None else checked_template(wanted.path),
            "interval_s": None if wanted.interval_s is None else _interval(wanted.interval_s),
        }
        changes: dict[str, Any] = {name: one for name, one in given.items() if one is not None}
        made = replace(before, **changes)
        if wanted.destination is not None:
            made = self._with_destination(made, wanted.destination)
        if made.destination == "kafka" and made.file_format != "jsonl":
            raise BadRequestError("format: messages of Kafka are jsonl")
        if made.query.strip():
            for one in made.types:
                self.sources[one].check(made.query)
        return made

    def _with_destination(self, before: Forwarder, given: Mapping[str, Any]) -> Forwarder:
        kind, options, secrets = checked_members(given)
        if kind == before.destination and same_place(kind, before.options, options):
            secrets = {**self._secrets(before), **secrets}
        check_secrets(kind, secrets)
        text = orjson.dumps(secrets).decode() if secrets else ""
        sealed = self.sealing.seal(text, before.purpose)
        return replace(before, destination=kind, options=options, sealed=sealed)

    def _secrets(self, forwarder: Forwarder) -> Members:
        text = self.sealing.open(forwarder.sealed, forwarder.purpose)
        secrets: Members = orjson.loads(text) if text else {}
        return secrets

    def _starts(self, made: Forwarder, since_us: int | None) -> dict[str, int]:
        """Returns the starting position of each type that has none yet."""
        known = {one.type for one in forwarders.streams(self.database, made.id)}
        return {
            one: 0
            if one in known
            else self.sources[one].newest()
            if since_us is None
            else self.sources[one].at_time(since_us)
            for one in made.types
        }


def _types(names: tuple[str, ...]) -> tuple[str, ...]:
    known = get_args(RecordType)
    if not names or any(one not in known for one in names):
        raise BadRequestError(f"types: must be some of {', '.join(known)}")
    return tuple(one for one in known if one in names)


def _one_of(name: str, given: str | None, known: tuple[str, ...]) -> str | None:
    if given is not None and given not in known:
        raise BadRequestError(f"{name}: must be one of {', '.join(known)}")
    return given


def _interval(seconds: int) -> int:
    if not 1 <= seconds <= FORWARD_INTERVAL_S_MAX:
        raise BadRequestError(f"interval_s: must be from 1 to {FORWARD_INTERVAL_S_MAX}")
    return seconds

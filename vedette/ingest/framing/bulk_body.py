"""Parser of Elasticsearch `_bulk` bodies. Splits documents without parsing them.

Each distinct action line is parsed once. The response has an item per action, in order;
`Bulk.record_of` maps items to records.
"""

from dataclasses import dataclass
from io import BytesIO
from typing import Any, Literal

import msgspec

from vedette.errors import BadRequestError
from vedette.ingest.framing.audit_events import MARK, assemble_records

ActionName = Literal["create", "index", "update", "delete"]


class Action(msgspec.Struct, frozen=True):
    """A parsed action line. Only `create` and `index` are supported."""

    name: ActionName
    index: str = ""
    id: str = ""

    @property
    def stores(self) -> bool:
        return self.name in {"create", "index"}


class _Target(msgspec.Struct):
    index: Any = msgspec.field(name="_index", default=None)
    id: Any = msgspec.field(name="_id", default=None)


class _ActionLine(msgspec.Struct, omit_defaults=True):
    create: _Target | None = None
    index: _Target | None = None
    update: _Target | None = None
    delete: _Target | None = None


_NAMES: tuple[ActionName, ...] = ("create", "index", "update", "delete")
_decoder = msgspec.json.Decoder(_ActionLine)

NO_RECORD = -1
"""Value in `Bulk.record_of` for an action without a document to store."""


@dataclass(frozen=True, slots=True)
class Bulk:
    """A parsed bulk request."""

    records: list[bytes]
    """Documents of supported actions, in order, including the newline."""
    actions: list[Action]
    """All actions, one per response item."""
    record_of: list[int]
    """Index into `records` for each action, or NO_RECORD, which is answered with 400. Items that
    are lines of the same audit event share a record."""


def split_bulk(body: bytes) -> Bulk:
    """Parses a bulk body.

    Raises BadRequestError for an empty body and for a malformed action line: the lines after it
    cannot be attributed, so the request is rejected as Elasticsearch does.
    """
    # Takes a third of the time of `split`. Decoders ignore trailing white space.
    lines = BytesIO(body).readlines()
    while lines and lines[-1] in (b"\n", b"\r\n", b"\r"):
        lines.pop()
    if not lines:
        raise BadRequestError("the bulk body is empty", reason="empty_body")
    bulk = _split_pairs(lines) or _split_lines(lines)
    return _assembled(bulk) if MARK in body else bulk


def _split_pairs(lines: list[bytes]) -> Bulk | None:
    """Fast path for alternating action and document lines that are all to be stored."""
    if len(lines) % 2:
        return None
    known: dict[bytes, Action] = {}
    heads = lines[0::2]
    for line in set(heads):
        action = _read_action(line)
        if action is None or not action.stores:
            return None
        known[line] = action
    actions = list(map(known.__getitem__, heads))
    return Bulk(lines[1::2], actions, list(range(len(actions))))


def _split_lines(lines: list[bytes]) -> Bulk:
    """General path, for empty lines and unsupported actions."""
    records: list[bytes] = []
    actions: list[Action] = []
    record_of: list[int] = []
    known: dict[bytes, Action] = {}
    position = 0
    while position < len(lines):
        line = lines[position]
        position += 1
        if not line.strip():
            continue
        action = known.get(line) or _read_action(line)
        if action is None:
            raise _malformed(position, line)
        known[line] = action
        actions.append(action)
        if action.name == "delete":
            record_of.append(NO_RECORD)
            continue
        if position == len(lines):
            raise BadRequestError(
                f"the action of line {position} has no document after it",
                reason="illegal_argument_exception",
            )
        if action.stores:
            record_of.append(len(records))
            records.append(lines[position])
        else:
            record_of.append(NO_RECORD)
        position += 1
    return Bulk(records, actions, record_of)


def _assembled(bulk: Bulk) -> Bulk:
    """Merges lines of the same audit event into one record."""
    records, places = assemble_records(bulk.records)
    record_of = [at if at == NO_RECORD else places[at] for at in bulk.record_of]
    return Bulk(records, bulk.actions, record_of)


def _read_action(line: bytes) -> Action | None:
    try:
        found = _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    given = [(name, target) for name in _NAMES if (target := getattr(found, name)) is not None]
    if len(given) != 1:
        return None
    name, target = given[0]
    return Action(name, _text(target.index), _text(target.id))


def _text(value: Any) -> str:
    return str(value) if isinstance(value, str | int) else ""


def _malformed(number: int, line: bytes) -> BadRequestError:
    shown = line[:60].decode("utf-8", "replace")
    return BadRequestError(
        f"Malformed action/metadata line [{number}], expected one of "
        f"[create, delete, index, update], found: {shown!r}",
        reason="illegal_argument_exception",
    )

"""Numbers without end: Python refuses to read a decimal of more than 4,300 digits, in the middle of
whatever reads it. A record that has one is read without it, or rejected with a reason."""

import copy
import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from tests.support.wire_records import CARRIED, RECORDS
from tests.unit.ingest.unix_records import outcomes_of, records_of
from vedette.ingest.decode import decode
from vedette.ingest.record import RecordError

_ALL = RECORDS | CARRIED
NUMBERS = {
    "digits": "9" * 5_000,
    "zeros": "0" * 5_000 + "1",
    "negative": "-" + "9" * 5_000,
    "hexadecimal": "0x" + "f" * 5_000,
    "digits of another script": "\u0663" * 5_000,
    "two signs": "--5",
    "a fraction": "1." + "3" * 5_000,
    "exponent": "1e5000",
    "superscript": "\u00b2",
}


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for name, item in items:
        if isinstance(item, dict | list):
            yield from _paths(item, (*path, name))
        else:
            yield (*path, name)


def _with(record: Any, path: tuple[Any, ...], value: str) -> Any:
    changed = copy.deepcopy(record)
    holder = changed
    for name in path[:-1]:
        holder = holder[name]
    holder[path[-1]] = value
    return changed


def _within(text: str, value: str) -> Iterator[str]:
    """A line, once with each of its numbers replaced."""
    start = None
    for at, char in enumerate(f"{text} "):
        if char.isdigit() and start is None:
            start = at
        elif not char.isdigit() and start is not None:
            yield f"{text[:start]}{value}{text[at:]}"
            start = None


@pytest.mark.parametrize("value", NUMBERS.values(), ids=NUMBERS)
@pytest.mark.parametrize("name", _ALL)
def test_a_number_without_end_in_any_member_is_no_failure(name: str, value: str) -> None:
    record = _ALL[name]
    changed = [_with(record, path, value) for path in _paths(record)]
    for path in _paths(record):
        old: Any = record
        for part in path:
            old = old[part]
        if isinstance(old, str):
            changed += [_with(record, path, text) for text in _within(old, value)]
    for one in changed:
        with suppress(RecordError):  # said with its reason
            outcomes_of(decode(json.dumps(one).encode()))


@pytest.mark.parametrize("value", NUMBERS.values(), ids=NUMBERS)
@pytest.mark.parametrize("field", ["item", "syscall", "pid", "a1", "argc", "inode", "exit"])
def test_so_it_is_in_lines_of_the_audit_log(field: str, value: str) -> None:
    line = f"type={{}} msg=audit(1600000000.123:7): {field}={value} pid=12 name=/bin/ls"
    kinds = ("SYSCALL", "EXECVE", "PATH", "PATH", "SOCKADDR")
    records = records_of(*map(line.format, kinds), host="web1.example")
    assert len(records) == 1
    outcomes_of(records)

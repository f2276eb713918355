"""Rows become columns, whatever is missing in them and whatever does not fit."""

from typing import Any

import pytest

from vedette.model.columns import METADATA
from vedette.store.engine.arrow_arrays import UNKNOWN, array, columns_of

_TYPES = {column.name: column.type for column in METADATA}


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"nobody": "knows this member"},
        {"cmdline": "a \ud800 lone surrogate"},
        {"process_pid": -1, "host_clock": 1 << 40},
    ],
    ids=["plain", "unknown member", "surrogate", "out of range"],
)
def test_all_columns_at_once_are_the_same_as_one_by_one(more: dict[str, Any]) -> None:
    rows: list[dict[str, Any]] = [
        {"hostname": "a", "start": 1_700_000_000_000_000, "interface_ip": bytes(15) + b"\1"},
        {"hostname": "b", "cmdline": "", "process_pid": 4} | more,
        {},
    ]
    found = columns_of(rows, METADATA)
    assert list(found) == list(_TYPES)
    for name, kind in _TYPES.items():
        assert found[name].equals(array([row.get(name, UNKNOWN[kind]) for row in rows], kind))

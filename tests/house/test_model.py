"""The columns of a segment and the event values say the same."""

import msgspec
import pytest

from vedette.model.columns import EVENT_KINDS, METADATA, EventKind
from vedette.model.indexes import INDEXES


@pytest.mark.parametrize("kind", EVENT_KINDS, ids=lambda kind: kind.name)
def test_columns_of_a_kind_are_the_fields_of_its_struct(kind: EventKind) -> None:
    fields = [field.name for field in msgspec.structs.fields(kind.struct)]
    assert fields[0] == "process_id"
    assert ["time" if name == "time_us" else name for name in fields[1:]] == [
        name for name, _ in kind.fields
    ]


def test_no_column_is_named_twice() -> None:
    names = [column.name for column in METADATA]
    names += [column.name for kind in EVENT_KINDS for column in kind.columns]
    assert len(names) == len(set(names))


def test_every_index_stands_on_a_column() -> None:
    names = {column.name for column in METADATA} | {"process_id"}
    names |= {column.name for kind in EVENT_KINDS for column in kind.columns}
    assert {column for column, _ in INDEXES} <= names

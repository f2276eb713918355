"""Any value in any place of a record of any sender gives records, or a rejection with a reason."""

import copy
import json
from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from scripts.reference.errors import RECORD
from tests.support.forms import in_form
from tests.support.wire_records import CARRIED, RECORDS
from vedette.ingest.context.host_context import HostContext
from vedette.ingest.decode import decode
from vedette.ingest.framing.body import split_body
from vedette.ingest.normalise import SOURCES
from vedette.ingest.normalise.keep import KEEP
from vedette.ingest.platform import os_type_of
from vedette.ingest.record import Record, RecordError

_ALL = RECORDS | CARRIED
_scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(1 << 70), 1 << 70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=20),
    st.sampled_from(("-", "0x", "{", "[]", "\x00", "C:\\", "HKLM\\", "1" * 400, "::ffff:1.2.3.4")),
)
_values = st.recursive(
    _scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(("pid", "name", "path", "ip", "data", "x")), inner),
    ),
    max_leaves=4,
)


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for name, item in items:
        yield (*path, name)
        yield from _paths(item, (*path, name))


_PLACES = [(name, path) for name, record in _ALL.items() for path in _paths(record)]


def _decoded(text: bytes) -> tuple[str, list[Record]]:
    """The reason of the rejection, or the records."""
    try:
        return "", decode(text)
    except RecordError as error:
        return error.reason, []


@settings(max_examples=in_form(300, 5_000))
@given(st.sampled_from(_PLACES), _values, st.booleans())
def test_a_damaged_record_is_read_or_rejected_with_a_documented_reason(
    place: tuple[str, tuple[Any, ...]], value: Any, is_removed: bool
) -> None:
    name, path = place
    record = copy.deepcopy(_ALL[name])
    holder: Any = record
    for part in path[:-1]:
        holder = holder[part]
    if is_removed:
        del holder[path[-1]]
    else:
        holder[path[-1]] = value
    text = json.dumps(record).encode()
    assert len(split_body(text)) == 1
    reason, found = _decoded(text)
    assert not reason or reason in RECORD
    context = HostContext(7)
    for one in found:
        assert one.host
        assert one.time_us > 0
        assert os_type_of(one) in {"", "windows", "linux", "osx"}
        SOURCES[one.vedette_record].learn(one, context)
    for one in found:
        for outcome in SOURCES[one.vedette_record].normalise(one, context, KEEP):
            assert outcome.time_us >= 0

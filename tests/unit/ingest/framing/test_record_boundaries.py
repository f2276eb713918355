"""Splitting a body into records: nothing good is lost to what is broken."""

import json
import time
import tracemalloc
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vedette.ingest.framing.record_boundaries import GAP_STEP_BYTES, split_pieces
from vedette.limits import RECORD_BYTES_MAX

CASES: tuple[tuple[str, list[str]], ...] = (
    ("", []),
    ("\n \n", []),
    ('{"a":1}\n{"b":2}\n', ['{"a":1}', '{"b":2}']),
    ('{"a":1}\r\n\r\n{"b":2}', ['{"a":1}', '{"b":2}']),
    ('\ufeff{"a":1}\n{"b":2}', ['{"a":1}', '{"b":2}']),
    ('{"a":1}{"b":"}{"} {"c":3}', ['{"a":1}', '{"b":"}{"}', '{"c":3}']),
    ('{\n  "a": [\n{"x":1}\n]}\n{"b":2}', ['{\n  "a": [\n{"x":1}\n]}', '{"b":2}']),
    ('[{"a":1},\n  {"b":2}\n]\n', ['{"a":1}', '{"b":2}']),
    ('{"a":1},\n{"b":2},\n', ['{"a":1}', '{"b":2}']),
    ('{"a":[1,\n{"b":1}\n{"c":2}', ['{"a":[1,', '{"b":1}', '{"c":2}']),
    ('{"a":"cut\n{"b":1}', ['{"a":"cut', '{"b":1}']),
    ('{"a":{"b":1}\n{"c":1}', ['{"a":{"b":1}', '{"c":1}']),
    ('}\n{"a":1}', ["}", '{"a":1}']),
    ('rubbish\n{"a":1}', ["rubbish", '{"a":1}']),
    ('Nov 1 host app: {"a":1}\n', ['{"a":1}']),
    ("type=X msg=audit(1.0:2): a={\n", ["type=X msg=audit(1.0:2): a={"]),
    ("[2024-01-01T00:00:00Z] I santad: action=X", ["[2024-01-01T00:00:00Z] I santad: action=X"]),
    (
        "<?xml version='1.0'?><Events><Event x='1'>\n<EventID>1</EventID></Event><Event>2</Event>",
        ["<Event x='1'>\n<EventID>1</EventID></Event>", "<Event>2</Event>"],
    ),
    ("<Event><EventID>1\n<Event>2</Event>", ["<Event><EventID>1", "<Event>2</Event>"]),
)


@pytest.mark.parametrize(("body", "wanted"), CASES)
def test_bodies_split_into_records(body: str, wanted: list[str]) -> None:
    assert split_pieces(body.encode()) == ([one.encode() for one in wanted], len(body.encode()))


@pytest.mark.parametrize(("body", "wanted"), CASES)
@pytest.mark.parametrize("block_bytes", [1, 3, 7])
def test_blocks_of_any_size_give_the_same(body: str, wanted: list[str], block_bytes: int) -> None:
    data, held, found = body.encode(), b"", []
    for at in range(0, len(data), block_bytes):
        pieces, taken = split_pieces(held + data[at : at + block_bytes], last=False)
        held = (held + data[at : at + block_bytes])[taken:]
        found += pieces
    found += split_pieces(held)[0]
    assert found == [one.encode() for one in wanted]


def test_a_record_over_the_limit_costs_only_itself() -> None:
    large = b'{"a":"' + b"x" * RECORD_BYTES_MAX + b'"}'
    assert split_pieces(large + b'\n{"b":1}\n')[0] == [large, b'{"b":1}']


@pytest.mark.parametrize(
    "unit",
    [
        "{\n",
        '{"a":\n',
        '{"a":[\n',
        "[",
        "]",
        '"\\"',
        "<Event>",
        "<Event>\n",
        "<a\n",
        '{"a":1\n',
        "x\n",
    ],
)
def test_hostile_bodies_take_linear_time(unit: str) -> None:
    data = (unit * (400_000 // len(unit))).encode()
    begin = time.process_time()
    split_pieces(data)
    assert time.process_time() - begin < 10


@pytest.mark.parametrize("unit", [b" ", b"\0", b", ", b"\xef\xbb\xbf", b"[", b"]", b"[,"])
def test_what_lies_between_records_takes_no_memory(unit: bytes) -> None:
    data = unit * (400_000 // len(unit)) + b'{"a":1}'
    tracemalloc.start()
    try:
        pieces, _ = split_pieces(data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert pieces == [b'{"a":1}']
    assert peak < 3 * len(data) + 100_000


@pytest.mark.parametrize("before", [0, 1, 2, 3])
def test_a_mark_at_the_end_of_a_step_is_between_records(before: int) -> None:
    gap = b" " * (GAP_STEP_BYTES - before) + b"\xef\xbb\xbf" + b" " * before
    assert split_pieces(gap + b'{"a":1}')[0] == [b'{"a":1}']


def test_a_log_line_may_follow_brackets() -> None:
    line = b"[2026-01-01 00:00:00] santad: action=EXEC"
    assert split_pieces(b"[[[" + line)[0] == [line]


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
_OBJECTS = st.dictionaries(st.text(), _VALUES, max_size=4)


@given(st.binary(max_size=300))
@settings(deadline=None)
def test_no_body_raises(body: bytes) -> None:
    pieces, taken = split_pieces(body)
    assert taken == len(body)
    assert all(pieces)


@given(
    st.lists(_OBJECTS, max_size=6), st.sampled_from(["\n", "\r\n", " ", "", ",\n"]), st.booleans()
)
@settings(deadline=None)
def test_every_object_comes_out(objects: list[Any], between: str, indented: bool) -> None:
    texts = [json.dumps(one, indent=1 if indented else None) for one in objects]
    pieces, _ = split_pieces(between.join(texts).encode())
    assert [json.loads(piece) for piece in pieces] == objects


@given(st.data())
@settings(deadline=None)
def test_good_lines_come_out_among_cut_ones(data: st.DataObject) -> None:
    lines: list[str] = []
    good: list[Any] = []
    for one in data.draw(st.lists(_OBJECTS, max_size=6)):
        text = json.dumps(one)
        cut = data.draw(st.booleans())
        if cut:
            text = text[: data.draw(st.integers(0, len(text) - 1))]
        else:
            good.append(one)
        lines.append(text)
    pieces, _ = split_pieces("\n".join(lines).encode())
    whole = [json.loads(piece) for piece in pieces if _is_object(piece)]
    assert [one for one in whole if one in good] == good


def _is_object(piece: bytes) -> bool:
    try:
        return isinstance(json.loads(piece), dict)
    except ValueError:
        return False

"""Elasticsearch `_bulk` bodies."""

import msgspec
import pytest

from vedette.errors import BadRequestError
from vedette.ingest.framing.bulk_body import NO_RECORD, Action, split_bulk


def test_pairs_of_action_and_document_become_records() -> None:
    bulk = split_bulk(b'{"create":{"_index":"i"}}\n{"a":1}\n{"index":{"_id":"7"}}\n{"b":2}\n')
    assert bulk.records == [b'{"a":1}\n', b'{"b":2}\n']
    assert bulk.actions == [Action("create", "i"), Action("index", "", "7")]
    assert bulk.record_of == [0, 1]


def test_actions_that_are_not_served_take_their_lines() -> None:
    bulk = split_bulk(
        b'{"delete":{"_id":"1"}}\n{"update":{"_id":"2"}}\n{"doc":{}}\n\n{"create":{}}\n{"a":1}'
    )
    assert bulk.records == [b'{"a":1}']
    assert [action.name for action in bulk.actions] == ["delete", "update", "create"]
    assert bulk.record_of == [NO_RECORD, NO_RECORD, 0]


def test_a_delete_between_pairs_does_not_shift_them() -> None:
    pair = b'{"index":{}}\n{"a":1}\n'
    bulk = split_bulk(pair + b'{"delete":{}}\n' + pair + b'{"delete":{}}\n' + pair)
    assert bulk.records == [b'{"a":1}\n'] * 3


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "empty"),
        (b"\n\n", "empty"),
        (b'{"a":1}\n{"b":2}\n', r"Malformed action/metadata line \[1\]"),
        (b'{"create":{}}\n{"a":1}\nnot json\n{"a":1}\n', r"line \[3\]"),
        (b'{"create":{},"index":{}}\n{"a":1}\n', "Malformed"),
        (b'{"create":{}}\n', "no document"),
        (b'["create"]\n{}\n', "Malformed"),
    ],
)
def test_a_body_that_cannot_be_split_is_refused_whole(body: bytes, message: str) -> None:
    with pytest.raises(BadRequestError, match=message):
        split_bulk(body)


def test_broken_documents_are_left_to_decode() -> None:
    assert split_bulk(b'{"create":{}}\n{"a":\n').records == [b'{"a":\n']


@pytest.mark.parametrize("end", ["", "\n", "\r\n", "\n\n\r\n"])
def test_what_ends_a_body_is_no_document(end: str) -> None:
    bulk = split_bulk(f'{{"create":{{}}}}\r\n{{"a":1}}{end}'.encode())
    assert [msgspec.json.decode(record) for record in bulk.records] == [{"a": 1}]
    assert bulk.record_of == [0]

"""Splits request bodies into records: arrays, text, and audit lines that arrive separately."""

import json

import pytest

from vedette.ingest.decode import decode
from vedette.ingest.framing.body import split_body
from vedette.ingest.framing.bulk_body import split_bulk
from vedette.ingest.record import RecordError

LINES = (
    'type=SYSCALL msg=audit(1700000000.1:7): syscall=59 success=yes exit=0 pid=2 exe="/bin/a"',
    'type=EXECVE msg=audit(1700000000.1:7): argc=1 a0="a"',
)


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (b'[{"a":1},{"b":[2]}]', [b'{"a":1}', b'{"b":[2]}']),
        (b'  [{"a":1}', [b'{"a":1}']),
        (b'[{"a":1}, 7]', [b'{"a":1}', b"7"]),
        (b'{"a":1}\n{"b":2}', [b'{"a":1}', b'{"b":2}']),
        ('{"a":"é"}'.encode("utf-16"), ['{"a":"é"}'.encode()]),
        (b"<13>Nov 1 h sysmon: <Event><System/></Event>", [b"<Event><System/></Event>"]),
        (b"", []),
    ],
)
def test_bodies_of_all_shapes(body: bytes, wanted: list[bytes]) -> None:
    assert split_body(body) == wanted


def test_lines_of_an_audit_event_are_one_record_in_the_first_ones_place() -> None:
    body = f'{LINES[0]}\n{{"a":1}}\n{LINES[1]}\n'.encode()
    audit, other = split_body(body, "web1")
    (record,) = decode(audit)
    assert (record.host, record.data["EXECVE"]) == ("web1", {"ARGV": ["a"]})
    assert other == b'{"a":1}'


def test_broken_pieces_stay_in_their_place() -> None:
    records = split_body(b'{"a":1}\n{"b":\n{"c":3}\n')
    assert records == [b'{"a":1}', b'{"b":', b'{"c":3}']
    with pytest.raises(RecordError) as error:
        decode(records[1])
    assert error.value.reason == "not_json"


def test_bulk_items_share_the_record_of_their_event() -> None:
    documents = [json.dumps({"message": line, "host": {"name": "w"}}) for line in LINES]
    body = "".join(f'{{"create":{{}}}}\n{one}\n' for one in [*documents, '{"a":1}'])
    bulk = split_bulk(body.encode())
    assert (len(bulk.records), bulk.record_of) == (2, [0, 0, 1])
    assert decode(bulk.records[0])[0].data["EXECVE"] == {"ARGV": ["a"]}


def test_events_of_two_hosts_with_one_serial_stay_apart() -> None:
    sent = [{"message": line, "hostname": host} for host in ("a", "b") for line in LINES]
    records = split_body("\n".join(map(json.dumps, sent)).encode())
    assert [decode(record)[0].host for record in records] == ["a", "b"]

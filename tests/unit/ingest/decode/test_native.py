"""The native dialect: records as JSON, as the importer sends them."""

import msgspec
import pytest

from vedette.ingest.decode import decode
from vedette.ingest.record import Record, RecordError

_RECORD = Record(
    "auditd", "box.example", 1_704_164_645_000_000, "auditd", 1300, 7, "p", 9, {"a": 1}
)


def test_a_record_comes_back_as_it_was_sent() -> None:
    assert decode(msgspec.json.encode(_RECORD)) == [_RECORD]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"host": " "}, "no_host"),
        ({"time_us": 0}, "no_time"),
        ({"time_us": 1 << 62}, "no_time"),
        ({"vedette_record": "other"}, "unknown_format"),
        ({"event_id": "x"}, "unknown_format"),
        ({"data": []}, "unknown_format"),
    ],
)
def test_a_record_that_is_none_is_refused(change: dict[str, object], reason: str) -> None:
    raw = msgspec.json.encode(msgspec.to_builtins(_RECORD) | change)
    with pytest.raises(RecordError) as refused:
        decode(raw)
    assert refused.value.reason == reason


def test_numbers_out_of_range_are_unknown_and_hosts_lower_case() -> None:
    change = {"host": "BOX.example.", "record_id": 1 << 60, "pid": -4}
    (record,) = decode(msgspec.json.encode(msgspec.to_builtins(_RECORD) | change))
    assert (record.host, record.record_id, record.pid) == ("box.example", 0, 0)

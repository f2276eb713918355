"""Records that `decode` accepts, and the stable reasons of its rejections."""

import json

import pytest

from vedette.ingest.decode import decode
from vedette.ingest.decode.formats import FORMATS, Format, possible_formats
from vedette.ingest.record import RecordError
from vedette.limits import RECORD_BYTES_MAX

_FLAT = {
    "EventID": 4624,
    "Channel": "Security",
    "Hostname": "A",
    "TimeCreated": "2024-01-02 03:04:05",
}


def _nested(levels: int) -> bytes:
    return b'{"a":' * levels + b"1" + b"}" * levels


def _with(**members: object) -> bytes:
    return json.dumps(_FLAT | members).encode()


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "not_json"),
        (b"not json", "not_json"),
        (b'{"a": NaN}', "not_json"),
        (b'{"a": Infinity}', "not_json"),
        (b'{"a": 1} {"b": 2}', "not_json"),
        (b"[1, 2]", "not_an_object"),
        (b'"text"', "not_an_object"),
        (b"17", "not_an_object"),
        (_nested(65), "too_deep"),
        (_nested(100_000), "too_deep"),
        (b'{"winlog":' + _nested(3_000) + b"}", "too_deep"),
        (b'{"x":"' + b"a" * RECORD_BYTES_MAX + b'"}', "too_large"),
        (b'{"Hostname":"\xff"}', "bad_text"),
        (b"<Event>\xff</Event>", "bad_text"),
        (b"<Event><System></Event>", "bad_xml"),
        (b'<!DOCTYPE a [<!ENTITY b "c">]><Event><System>&b;</System></Event>', "bad_xml"),
        (b"<Other/>", "unknown_format"),
        (b"<Event><EventData/></Event>", "unknown_format"),
        (b"{}", "unknown_format"),
        (b'{"message": "hello", "host": "a"}', "unknown_format"),
        (_with(Hostname=""), "no_host"),
        (_with(Hostname=None), "no_host"),
        (_with(Hostname=5), "no_host"),
        (_with(TimeCreated=None), "no_time"),
        (_with(TimeCreated="-"), "no_time"),
        (_with(TimeCreated="yesterday"), "bad_time"),
        (_with(TimeCreated="1601-01-01T00:00:00Z"), "bad_time"),
        (_with(TimeCreated={"a": 1}), "bad_time"),
    ],
)
def test_a_bad_record_is_refused_with_a_stable_reason(raw: bytes, reason: str) -> None:
    with pytest.raises(RecordError) as refused:
        decode(raw)
    assert refused.value.reason == reason


def test_a_nesting_of_64_levels_is_looked_at() -> None:
    with pytest.raises(RecordError) as refused:
        decode(_nested(64))
    assert refused.value.reason == "unknown_format"


def test_a_zero_filetime_gives_way_to_the_next_time_of_the_record() -> None:
    raw = _with(TimeCreated="1601-01-01T00:00:00Z", UtcTime="2024-01-02 03:04:05.678")
    (record,) = decode(raw)
    assert record.time_us == 1_704_164_645_678_000


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        (b"a\\ud800b", "a\ufffdb"),
        (b"a\\ud800", "a\ufffd"),
        (b"a\\udc00 and more text", "a\ufffd and more text"),
        (b"\\ud83d\\ude00\\uDBFF.", "\U0001f600\ufffd."),
    ],
)
def test_a_lone_surrogate_in_a_name_does_not_hide_the_record(sent: bytes, kept: str) -> None:
    (record,) = decode(_with(TargetUserName="X").replace(b'"X"', b'"' + sent + b'"'))
    assert record.data["TargetUserName"] == kept


@pytest.mark.parametrize("wrapper", ["_source", "result"])
def test_a_record_is_found_inside_the_export_of_another_store(wrapper: str) -> None:
    (record,) = decode(json.dumps({"_index": "x", wrapper: _FLAT}).encode())
    assert (record.host, record.channel, record.event_id) == ("a", "Security", 4624)


@pytest.mark.parametrize(
    ("value", "event_id"),
    [("4624", 4624), (4624, 4624), ({"#text": "4624"}, 4624), (None, 0), ([1], 0), ("x", 0)],
)
def test_an_event_id_of_any_type_is_read_or_unknown(value: object, event_id: int) -> None:
    (record,) = decode(_with(EventID=value))
    assert record.event_id == event_id


def test_a_record_that_a_shipper_carries_as_text_is_read() -> None:
    laurel = {"ID": "1767605400.123:42", "SYSCALL": {"syscall": 59, "pid": 7, "ppid": 1}}
    shipped = {
        "@timestamp": "2026-01-05T09:30:01Z",
        "host": {"name": "Web-1"},
        "message": json.dumps(laurel),
    }
    (record,) = decode(json.dumps(shipped).encode())
    assert (record.vedette_record, record.host) == ("auditd", "web-1")
    assert record.time_us == 1_767_605_400_123_000


def test_carried_text_is_not_nested_without_end() -> None:
    text = "{}"
    for _ in range(8):
        text = json.dumps({"message": text})
    with pytest.raises(RecordError) as refused:
        decode(text.encode())
    assert refused.value.reason == "unknown_format"


_ALONGSIDE = {
    "Channel",
    "Computer",
    "EventReceivedTime",
    "event_id",
    "columns",
    "data",
    "execution",
}
"""Further members that formats require."""

_MARKED = "type=AUOMS_EVENT msg=audit(1.2:3): santad: action= <Event><System>"


@pytest.mark.parametrize("one", FORMATS)
@pytest.mark.parametrize(
    "value",
    [
        _MARKED,
        "1767605400.123:42",
        {"original": _MARKED, "process": {"audit_token": 1}, "audit_token": 1, "System": {}},
        [{}],
    ],
    ids=["text", "id", "object", "list"],
)
def test_a_format_recognises_nothing_without_its_members(one: Format, value: object) -> None:
    """So it need not be asked about an object that has none of them."""
    names = {name for some in FORMATS for name in some.members} | _ALONGSIDE
    record = dict.fromkeys(names - one.members, value)
    assert not one.recognises(record)
    assert one not in possible_formats(record)

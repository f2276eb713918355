"""Bad records among good ones, over HTTP: told by position and reason, at no cost to the others;
and odd ones that are taken."""

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from tests.support.sysmon import Host

Json = dict[str, Any]
Spoil = Callable[[Json], object]

_NUMBERS = iter(range(1_000_000))


class Batch:
    """Two good records of a host of its own, to put others between."""

    def __init__(self) -> None:
        self.name = f"bad-{next(_NUMBERS)}.example"
        self.host = Host(self.name)
        self.process = self.host.process(5, "C:\\a.exe")
        self.good = [encoded(self.record()), encoded(self.record())]

    def record(self) -> Json:
        return self.host.of(self.process, 11, 1, TargetFilename="C:\\good.txt")

    def spoilt(self, spoil: Spoil) -> bytes:
        record = self.record()
        spoil(record)
        return encoded(record)


def encoded(record: Json) -> bytes:
    return json.dumps(record).encode()


def put(member: str, value: Any) -> Spoil:
    """Sets a member of the envelope."""
    return lambda record: record["winlog"].update({member: value})


def data(name: str, value: Any) -> Spoil:
    """Sets a member of the event data."""
    return lambda record: record["winlog"]["event_data"].update({name: value})


def at(envelope: Any, utc: str) -> Spoil:
    """Sets both times; "" leaves out that of the event."""

    def spoil(record: Json) -> None:
        record["@timestamp"] = envelope
        record["winlog"]["event_data"]["UtcTime"] = utc
        if not utc:
            del record["winlog"]["event_data"]["UtcTime"]

    return spoil


def from_now(seconds: float) -> Spoil:
    moment = datetime.fromtimestamp(time.time() + seconds, UTC)
    return at(moment.isoformat(), moment.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3])


def without_host(record: Json) -> None:
    del record["winlog"]["computer_name"]
    del record["host"]


def nested(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = [value]
    return value


BAD_TEXT: dict[str, tuple[bytes, str]] = {
    "cut short": (b'{"@timestamp": "2026', "not_json"),
    "a number": (b"42", "not_an_object"),
    "a text": (b'"text"', "not_an_object"),
    "null": (b"null", "not_an_object"),
    "an empty object": (b"{}", "unknown_format"),
    "of no known format": (b'{"a": {"b": 1}}', "unknown_format"),
    "invalid UTF-8": (b'{"winlog": "\xff\xfe"}', "bad_text"),
    "NaN": (b'{"winlog": NaN}', "not_json"),
    "Infinity": (b'{"winlog": -Infinity}', "not_json"),
    "arrays without end": (b'{"winlog":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "too_deep"),
    "objects without end": (b'{"a":' * 50_000 + b"1" + b"}" * 50_000, "too_deep"),
    "a wrong type": (b'{"winlog": [1], "@timestamp": "2026-01-01T00:00:00Z"}', "unknown_format"),
}

BAD_RECORDS: dict[str, tuple[Spoil, str]] = {
    "deep data": (data("deep", nested(900)), "too_deep"),
    "no host": (without_host, "no_host"),
    "no name of the host that logged": (put("computer_name", None), "no_host"),
    "a number for a host": (put("computer_name", 5), "no_host"),
    "a host with a space": (put("computer_name", "a b.example"), "bad_host"),
    "a host with a control character": (put("computer_name", "a\x07b"), "bad_host"),
    "a host with a zero byte": (put("computer_name", "a\x00b"), "bad_host"),
    "a very long host": (put("computer_name", "a" * 300), "bad_host"),
    "no time": (at(None, ""), "no_time"),
    "1601": (at("1601-01-01T00:00:00.000Z", "1601-01-01 00:00:00.000"), "bad_time"),
    "before 1970": (at("1969-12-31T23:59:59.000Z", "1969-12-31 23:59:59.000"), "bad_time"),
    "9999": (at("9999-12-31T23:59:59.999Z", "9999-12-31 23:59:59.999"), "bad_time"),
    "no such month": (at("2026-13-01T00:00:00Z", "2026-13-01 00:00:00.000"), "bad_time"),
    "a word for a time": (at("yesterday", "yesterday"), "bad_time"),
    "a negative time": (at(-5, ""), "bad_time"),
    "a list for a time": (at([1], ""), "bad_time"),
    "a clock 25 hours ahead": (from_now(25 * 3600), "bad_time"),
    "a text of 10 MB": (data("TargetFilename", "x" * 10_000_000), "too_large"),
}

ODD_RECORDS: dict[str, Spoil] = {
    "a clock 2 hours ahead": from_now(2 * 3600),
    "a time of the event that is none": data("UtcTime", "1601-01-01 00:00:00.000"),
    "a long text": data("TargetFilename", "C:\\" + "x" * 500_000),
    "a lone surrogate": data("TargetFilename", "C:\\\ud800.txt"),
    "a zero byte": data("TargetFilename", "C:\\a\x00b.txt"),
    "a number for a text": data("TargetFilename", 7),
    "an object for a text": data("TargetFilename", {"a": [1]}),
    "null for a text": data("TargetFilename", None),
    "a huge record id": put("record_id", 10**30),
    "a record id of 64 bits": put("record_id", 2**63),
    "a negative record id": put("record_id", -5),
    "a word for a record id": put("record_id", "abc"),
    "a list for a record id": put("record_id", [1]),
    "text for an event id": put("event_id", "11"),
    "a number for an event id": put("event_id", 11),
    "a number of 400 digits": data("Other", 10**400),
}


ROUTES = pytest.mark.parametrize("route", ["/api/v1/ingest", "/_bulk"])


@pytest.mark.parametrize("case", BAD_TEXT)
@ROUTES
def test_a_text_that_is_no_record_is_refused_in_its_place(
    sender: httpx.Client, analyst: httpx.Client, route: str, case: str
) -> None:
    batch = Batch()
    bad, reason = BAD_TEXT[case]
    assert post(sender, route, [batch.good[0], bad, batch.good[1]]) == [None, reason, None]
    assert events_of(analyst, batch.name) == 2


@ROUTES
def test_bad_records_are_refused_each_in_its_place(
    sender: httpx.Client, analyst: httpx.Client, route: str
) -> None:
    batch = Batch()
    bad = [batch.spoilt(spoil) for spoil, _ in BAD_RECORDS.values()]
    first, *reasons, last = post(sender, route, [batch.good[0], *bad, batch.good[1]])
    assert dict(zip(BAD_RECORDS, reasons, strict=True)) == {
        case: reason for case, (_, reason) in BAD_RECORDS.items()
    }
    assert (first, last) == (None, None)
    assert events_of(analyst, batch.name) == 2


@ROUTES
def test_odd_records_are_taken(sender: httpx.Client, analyst: httpx.Client, route: str) -> None:
    batch = Batch()
    odd = [batch.spoilt(spoil) for spoil in ODD_RECORDS.values()]
    reasons = post(sender, route, odd)
    assert dict(zip(ODD_RECORDS, reasons, strict=True)) == dict.fromkeys(ODD_RECORDS)
    assert events_of(analyst, batch.name) == len(ODD_RECORDS)


def test_an_event_without_a_usable_id_is_kept_as_a_record(sender: httpx.Client) -> None:
    batch = Batch()
    ids = ("eleven", 10**20, -11, None, [11], 4.5)
    body = b"\n".join([*batch.good, *(batch.spoilt(put("event_id", one)) for one in ids)])
    answer = sender.post("/api/v1/ingest", content=body).json()
    assert (answer["stored"], answer["records"], answer["rejected"]) == (2, len(ids), 0)


def post(sender: httpx.Client, route: str, records: list[bytes]) -> list[str | None]:
    """For every record of a request the reason why it was refused, None where it was taken."""
    if route == "/_bulk":
        body = b"".join(b'{"create":{}}\n' + record + b"\n" for record in records)
        answer = sender.post(route, content=body)
        items = [item["create"] for item in answer.json()["items"]]
        assert [item["status"] in (200, 201) for item in items] == [
            "error" not in item for item in items
        ]
        errors = [item.get("error") for item in items]
        assert all(error is None or error["reason"] for error in errors)
        return [error and error["type"] for error in errors]
    answer = sender.post(route, content=b"\n".join(records))
    assert answer.status_code == 200, answer.text
    reasons: list[str | None] = [None] * len(records)
    for error in answer.json()["errors"]:
        assert error["message"]
        reasons[error["position"]] = error["reason"]
    return reasons


def events_of(analyst: httpx.Client, host: str) -> int:
    answer = analyst.get("/api/v1/process", params={"q": f"hostname:{host}"}).json()
    return sum(row["filemod_count"] for row in answer["results"])


@pytest.mark.parametrize(
    ("query", "limit"),
    [
        (" ".join(f"cmdline:w{n}" for n in range(129)), "at most 128 conditions"),
        (" OR ".join(f"w{n}" for n in range(2_001)), "at most 2,000 values"),
    ],
)
def test_a_query_that_is_too_large_is_refused_with_the_limit_and_the_place(
    analyst: httpx.Client, query: str, limit: str
) -> None:
    answer = analyst.get("/api/v1/process", params={"q": query})
    body = answer.json()
    assert (answer.status_code, body["reason"]) == (400, "query_malformed_syntax")
    assert limit in body["message"]
    assert query[body["start"] : body["end"]] == query.rsplit(maxsplit=1)[-1]

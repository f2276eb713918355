"""Forwarded data other than native alerts as JSON lines: hits, events, OCSF, Parquet; also to HTTPS
receivers."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.contract.alerting.detections import detection
from tests.contract.forwarder.conftest import Here
from tests.contract.store.rows import child, connection, file, module, process_id
from tests.support.receivers import http_receiver
from vedette.errors import BadRequestError, QueryError
from vedette.forwarder import event_source, record_files
from vedette.forwarder.configuration import Wanted
from vedette.model.columns import EVENT_KINDS
from vedette.model.event import (
    Crossproc,
    Dnsquery,
    Pipe,
    Processblock,
    ProcessEvent,
    Regmod,
    Scriptblock,
)
from vedette.model.findings.detection import Source
from vedette.state.jobs import forwarded_hits, forwarders
from vedette.store.read.detection.committed_events import event_commits

EVENTS: tuple[ProcessEvent, ...] = (
    file("c:\\users\\anna\\a.exe"),
    module("c:\\windows\\b.dll", "0" * 32),
    connection("evil.example"),
    child(7),
    Regmod(process_id(1), 1_000, 2, "registry\\machine\\run\\x", "c:\\a.exe"),
    Crossproc(process_id(1), 1_000, 1, process_id(9), "c:\\lsass.exe"),
    Processblock(process_id(1), 1_000, 1, 1, 1, 0, "c:\\mimikatz.exe", "mimikatz", "1" * 32),
    Dnsquery(process_id(1), 1_000, "evil.example", 0, "10.0.0.9;10.0.0.8"),
    Pipe(process_id(1), 1_000, 1, "\\evil"),
    Scriptblock(process_id(1), 1_000, "block", 1, 1, "iex", "c:\\x.ps1"),
)
"""One of each kind."""


def only(here: Here, record_type: str = "endpoint.event", **members: Any) -> forwarders.Forwarder:
    return here.add(types=(record_type,), **members)


def all_sent(here: Here, one: forwarders.Forwarder) -> bool:
    stream = here.stream(one)
    return stream.position == here.parts.sources[stream.type].newest()


def test_every_kind_of_event_is_forwarded_with_its_process_and_device(here: Here) -> None:
    assert {type(one).__name__.lower() for one in EVENTS} == {kind.name for kind in EVENT_KINDS}
    one = only(here)
    here.commit(1, *EVENTS, hostname="ws-1", os_type="windows", path="c:\\p.exe", cmdline="p -x")
    here.run(lambda: all_sent(here, one))
    records = here.records()
    kinds = sorted(record["type"].removeprefix("endpoint.event.") for record in records)
    assert kinds == sorted(kind.name for kind in EVENT_KINDS)
    assert {record["process_cmdline"] for record in records} == {"p -x"}
    assert {record["device_name"] for record in records} == {"ws-1"}
    by_type = {record["type"].rpartition(".")[2]: record for record in records}
    assert by_type["filemod"]["filemod_operation"] == "CREATED"
    assert by_type["netconn"]["netconn_remote_ip"] == "10.0.0.9"
    assert by_type["filemod"]["device_timestamp"] == "1970-01-01T00:00:00.001Z"


def test_later_events_carry_the_metadata_of_their_process(here: Here) -> None:
    one = only(here)
    here.commit(1, file("a"), hostname="ws-1", cmdline="p -x")
    here.commit(1, file("b"))
    here.run(lambda: all_sent(here, one))
    found = {record["filemod_path"]: record["process_cmdline"] for record in here.records()}
    assert found == {"a": "p -x", "b": "p -x"}


def test_events_of_many_commits_are_forwarded_though_segments_merge(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_source, "FORWARD_READ_EVENTS", 9)
    monkeypatch.setattr(record_files, "FORWARD_FILE_RECORDS_MAX", 2)
    one = only(here)
    paths = []
    for number in range(24):
        here.commit(number % 5, *(file(f"{number} {part}", number) for part in range(3)))
        paths += [f"{number} {part}" for part in range(3)]
        if number == 11:
            here.run(lambda: all_sent(here, one))
    here.engine.command(f"OPTIMIZE TABLE {here.engine.capabilities.storage('segment')} FINAL")
    here.run(lambda: all_sent(here, one))
    records = here.records()
    assert {record["filemod_path"] for record in records} == set(paths)
    # Those that came twice can be told by their id.
    assert len({record["event_id"] for record in records}) == len(paths)
    assert here.stream(one).records >= len(paths)


def test_commits_are_read_by_how_many_events_they_have(here: Here) -> None:
    for number in range(4):
        here.commit(number, *(file(f"{number} {part}") for part in range(9)))
    here.seq += 1  # one without rows
    untils = [
        event_commits(here.engine, after, settled, events).until  # type: ignore[union-attr]
        for after, settled, events in [(0, 5, 10), (0, 5, 20), (0, 5, 100), (2, 3, 1), (4, 5, 1)]
    ]
    assert untils == [1, 2, 5, 3, 5]
    assert event_commits(here.engine, 5, 5, 10) is None


def test_a_query_selects_events_by_their_process(here: Here) -> None:
    one = only(here, query="process_name:evil.exe")
    here.commit(1, file("a"), process_name="good.exe")
    here.commit(2, file("b"), process_name="evil.exe")
    here.commit(3, file("c"), process_name="good.exe")
    here.run(lambda: all_sent(here, one))
    assert [record["filemod_path"] for record in here.records()] == ["b"]


def test_events_can_begin_in_the_past(here: Here) -> None:
    here.commit(1, file("old"))
    here.clock.advance(3_600)
    since_us = here.clock.now_us()
    here.commit(2, file("new"))
    one = only(here, since_us=since_us)
    here.run(lambda: all_sent(here, one))
    assert [record["filemod_path"] for record in here.records()] == ["new"]


def hit(number: int, **values: Any) -> Any:
    source = Source("watchlist", str(number))
    return detection(number, source=source, source_name=f"W {number}", seq=number, **values)


def test_hits_are_kept_while_somebody_wants_them_and_sent_once(here: Here) -> None:
    here.detect([hit(1)])
    one, two = only(here, "watchlist.hit"), here.add("two", types=("watchlist.hit",))
    here.parts.change(two.id, Wanted(enabled=False))
    here.detect([hit(2), detection(3, seq=3)])
    here.detect([hit(4)])
    here.run(lambda: here.stream(one).records == 2)
    assert [record["watchlists"][0]["id"] for record in here.records()] == ["2", "4"]
    assert {record["type"] for record in here.records()} == {"watchlist.hit"}
    forwarded_hits.purge(here.database)
    here.parts.change(two.id, Wanted(enabled=True))
    here.run(lambda: here.stream(two).records == 2)
    assert here.ids("two") == here.ids()
    forwarded_hits.purge(here.database)
    assert forwarded_hits.after(here.database, 0, 9) == []
    # A forwarder that comes later begins behind those that were deleted.
    three = here.add("three", types=("watchlist.hit",))
    here.detect([hit(5)])
    here.run(lambda: here.stream(three).records == 1)


def test_hits_of_hosts_with_broken_texts_are_forwarded(here: Here) -> None:
    one = only(here, "watchlist.hit")
    here.detect([hit(1, matched={"CommandLine": "a\ud800b"})])
    here.run(lambda: here.stream(one).records == 1)
    assert here.records()[0]["matched"] == {"CommandLine": "a?b"}


def test_hits_that_are_too_many_are_dropped_and_counted(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forwarded_hits, "FORWARDED_HITS_MAX", 5)
    monkeypatch.setattr(forwarded_hits, "FORWARD_HITS_PURGED", 3)
    one, two = only(here, "watchlist.hit"), here.add("two", types=("watchlist.hit",))
    here.parts.change(two.id, Wanted(enabled=False))
    for number in range(1, 13):
        here.detect([hit(number)])
        if number == 4:
            here.run(lambda: here.stream(one).records == 4)
    forwarded_hits.purge(here.database)
    assert (here.stream(one).lost, here.stream(two).lost) == (3, 7)
    here.parts.change(two.id, Wanted(enabled=True))
    here.run(lambda: here.stream(one).records + here.stream(two).records == 14)
    assert here.ids()[4:] == here.ids("two")


def test_hits_take_no_query(here: Here) -> None:
    with pytest.raises(BadRequestError, match=r"watchlist\.hit"):
        only(here, "watchlist.hit", query="x")
    with pytest.raises((BadRequestError, QueryError)):
        only(here, query="no_such_field:1")


def test_one_forwarder_sends_several_types(here: Here) -> None:
    one = here.add(types=("endpoint.event", "alert", "watchlist.hit"), path="{type}")
    here.commit(1, file("a"))
    here.detect([hit(1)])
    here.run(lambda: all(s.records for s in forwarders.streams(here.database, one.id)))
    folders = {path.name for path in (here.root / "one").iterdir()}
    assert folders == {"alert", "endpoint.event", "watchlist.hit"}


def receiver_of(url: str, **members: str) -> dict[str, str]:
    return {"kind": "https", "url": url, "authorization": "Bearer abc", **members}


def test_a_receiver_gets_each_file_as_a_request(here: Here) -> None:
    with http_receiver() as receiver:
        one = here.add(destination=receiver_of(receiver.url))
        ids = here.write(12)
        here.run(lambda: here.stream(one).records == 12)
        (post,) = receiver.posts
    headers = {name.lower(): text for name, text in post.headers.items()}
    assert headers["authorization"] == "Bearer abc"
    assert headers["content-encoding"] == "gzip"
    assert headers["content-type"] == "application/x-ndjson"
    lines = gzip.decompress(post.body).splitlines()
    assert [json.loads(line)["id"] for line in lines] == ids


def test_a_receiver_that_refuses_gets_the_same_file_again_after_the_pause_it_asks_for(
    here: Here,
) -> None:
    with http_receiver() as receiver:
        receiver.status, receiver.answer_headers = 429, {"Retry-After": "600"}
        one = here.add(destination=receiver_of(receiver.url))
        here.write(3)
        here.run(lambda: here.stream(one).failures == 1)
        failing = here.stream(one)
        assert failing.retry_us - failing.failed_us >= 600_000_000
        assert "429" in failing.error
        assert "key=1" not in failing.error
        receiver.status, receiver.answer_headers = 200, {}
        here.run(lambda: here.stream(one).records == 3)
        first, *_, last = receiver.posts
    assert first.body == last.body
    assert first.headers["X-Vedette-File"] == last.headers["X-Vedette-File"]


def test_a_redirect_is_not_followed(here: Here) -> None:
    with http_receiver() as other, http_receiver() as receiver:
        receiver.status, receiver.answer_headers = 307, {"Location": other.url}
        one = here.add(destination=receiver_of(receiver.url))
        here.write(1)
        here.run(lambda: here.stream(one).failures == 1)
        assert other.posts == []
        assert "redirects" in here.stream(one).error


def test_keys_in_urls_are_secrets(here: Here, tmp_path: Path) -> None:
    one = here.add(destination=receiver_of("https://siem.example/in/KEY123?key=KEY456"))
    assert one.options == {"place": "https://siem.example"}
    assert "KEY" not in repr(one)
    assert b"KEY123" not in (tmp_path / "state.db").read_bytes()
    kept = here.parts.change(one.id, Wanted(destination={"kind": "https", **one.options}))
    assert here.parts.open(kept) == here.parts.open(one)
    with pytest.raises(BadRequestError, match="url"):
        here.parts.change(one.id, Wanted(destination={"kind": "https", "place": "https://a.b"}))

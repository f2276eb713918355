"""Indicators match records that belong to no process: an alert of the host, one a day for each kind
of record."""

from contextlib import suppress
from itertools import count
from typing import Any

import pytest

from tests.contract.feeds.publisher import NOW_US, a_report
from tests.contract.feeds.test_indicators import MD5, SHA256, Follower, connection
from tests.support.indexed import on_plain_tables
from vedette.alerting.detection_writer import DetectionWriter
from vedette.model.event import Kept
from vedette.store.read.threat.record_matches import RECORD_VALUE_CHARS_MATCHED
from vedette.store.write.commit import Commit, RecordRow
from vedette.store.write.insert import write_commit

DAY_US = 86_400_000_000
SECURITY = "Security"
NUMBERS = count(1)
"""Record numbers in the log of their host."""


@pytest.fixture
def follower(publisher: Any) -> Follower:
    return Follower(publisher)


def keep(
    follower: Follower, *records: dict[str, str], sensor_id: int = 1, at_us: int = NOW_US
) -> None:
    """A commit of records."""
    follower.seq += 1
    rows = []
    for fields in records:
        number = next(NUMBERS)
        kept = Kept(at_us + number, SECURITY, 4625, number, "Auditing", fields)
        rows.append(
            RecordRow(0, sensor_id, f"host-{sensor_id}", kept, NOW_US, follower.seq, number)
        )
    write_commit(follower.engine, Commit(records=rows))


def alerts(follower: Follower) -> list[tuple[Any, ...]]:
    return follower.engine.query(
        "SELECT alert_type, sensor_id, ioc_type, ioc_value, count FROM alert FINAL "
        "ORDER BY sensor_id, ioc_value, first_event_time"
    ).rows


OTHER_MD5 = "a5" * 16
VALUES: dict[str, tuple[str, str, dict[str, str]]] = {
    "address": ("ipv4", "203.0.113.9", {"IpAddress": "203.0.113.9"}),
    "mapped": ("ipv4", "203.0.113.8", {"IpAddress": "::ffff:203.0.113.8"}),
    "network": ("ipv4", "198.18.7.0/24", {"Address": "198.18.7.77"}),
    "ipv6": ("ipv6", "2001:db8::/32", {"ClientAddress": "2001:db8::5"}),
    "name": ("dns", "evil.example", {"QueryName": "A.Evil.example."}),
    "url": (
        "dns",
        "worse.example",
        {"remoteName": "bits of https://ann:pw@c2.WORSE.example:8443/a.exe"},
    ),
    "hashes": ("sha256", SHA256, {"Hashes": f"MD5={MD5.upper()},SHA256={SHA256.upper()}"}),
    "md5": ("md5", OTHER_MD5, {"File Hash": OTHER_MD5}),
}
"""Type and value of an indicator, and the members of a record that it matches."""


@pytest.mark.parametrize("is_past", [False, True], ids=["new", "past"])
def test_each_type_of_indicator_is_found_in_a_record(follower: Follower, is_past: bool) -> None:
    """Each in the record of another host, which has one that matches nothing, too."""
    others = {
        "IpAddress": "198.51.100.7",
        "QueryName": "notevil.example",
        "FileVersion": "203.0.113.9",
        "Hashes": f"{OTHER_MD5}0 {SHA256[1:]}",
        "ScriptBlockText": "x" * RECORD_VALUE_CHARS_MATCHED + f" https://evil.example/ {SHA256}",
    }
    iocs: dict[str, list[str]] = {}
    for kind, value, _ in VALUES.values():
        iocs.setdefault(kind, []).append(value)

    def happens() -> None:
        for number, (_, _, fields) in enumerate(VALUES.values(), 1):
            keep(follower, fields, others, sensor_id=number)

    follower.rounds.run()
    if is_past:
        happens()
        follower.rounds.run()
    follower.publisher.publish(a_report("r", **iocs))
    follower.publisher.sync()
    follower.rounds.run()
    if not is_past:
        happens()
    follower.rounds.run()
    assert alerts(follower) == [
        ("watchlist.hit.ingress.host", number, kind, value, 1)
        for number, (kind, value, _) in enumerate(VALUES.values(), 1)
    ]


@on_plain_tables
@pytest.mark.parametrize("name", VALUES)
def test_an_indicator_of_a_type_is_found_where_there_are_no_others(
    follower: Follower, name: str
) -> None:
    kind, value, fields = VALUES[name]
    follower.publisher.publish(a_report("r", **{kind: [value]}))
    follower.publisher.sync()
    follower.rounds.run()
    keep(follower, fields)
    follower.rounds.run()
    assert alerts(follower) == [("watchlist.hit.ingress.host", 1, kind, value, 1)]


def test_records_of_one_kind_are_one_alert_of_a_host_and_day(follower: Follower) -> None:
    follower.publisher.publish(a_report("r", ipv4=["203.0.113.9"]))
    follower.publisher.sync()
    follower.rounds.run()
    guess = {"IpAddress": "203.0.113.9", "TargetUserName": "ann"}
    for _ in range(3):
        keep(follower, guess, guess)
    follower.rounds.run()
    keep(follower, guess)
    keep(follower, guess, sensor_id=2)
    follower.rounds.run()
    keep(follower, guess, at_us=NOW_US + DAY_US)
    follower.rounds.run()
    counts = [(row[1], row[4]) for row in alerts(follower)]
    assert counts == [(1, 7), (1, 1), (2, 1)]
    (event, matched) = follower.engine.query(
        "SELECT event, matched FROM alert FINAL WHERE sensor_id = 2"
    ).rows[0]
    assert (event["TargetUserName"], event["Channel"], event["EventID"]) == (
        "ann",
        SECURITY,
        "4625",
    )
    assert matched == {"ipaddr": "203.0.113.9"}


def test_the_past_has_records_of_before_between_and_after_segments(
    follower: Follower, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vedette.feeds.indicators.INDICATOR_PAST_ROWS", 1)
    monkeypatch.setattr("vedette.feeds.indicators.INDICATOR_PAST_STEPS", 1)
    guess = {"IpAddress": "203.0.113.9"}
    for sensor_id in (1, 2):
        keep(follower, guess, sensor_id=sensor_id)
        follower.commit(sensor_id, connection("203.0.113.9"))
    keep(follower, guess, sensor_id=3)
    follower.rounds.run()
    follower.publisher.publish(a_report("r", ipv4=["203.0.113.9"]))
    follower.publisher.sync()
    for _ in range(6):
        follower.start()
        follower.rounds.run()
    of_hosts = [row[1:] for row in alerts(follower) if row[0].endswith(".host")]
    assert of_hosts == [(one, "ipv4", "203.0.113.9", 1) for one in (1, 2, 3)]
    assert follower.rounds.run() == 0


@pytest.mark.parametrize("is_written", [False, True])
def test_a_crash_loses_and_doubles_no_record(
    follower: Follower, monkeypatch: pytest.MonkeyPatch, is_written: bool
) -> None:
    follower.publisher.publish(a_report("r", ipv4=["203.0.113.9"]))
    follower.publisher.sync()
    follower.rounds.run()
    guess = {"IpAddress": "203.0.113.9"}
    keep(follower, guess, guess)
    keep(follower, guess)
    write = DetectionWriter.write

    def dying(self: Any, found: Any, within: Any) -> None:
        if is_written:
            write(self, found, _dies)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(DetectionWriter, "write", dying)
        with suppress(KeyboardInterrupt):
            follower.rounds.run()
    follower.start()
    keep(follower, guess)
    follower.rounds.run()
    assert [row[4] for row in alerts(follower)] == [4]


def _dies(_transaction: object) -> None:
    raise KeyboardInterrupt


def test_many_hits_in_records_are_told_in_pages(
    follower: Follower, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("feeds.indicator_hits", "store.read.threat.record_matches"):
        monkeypatch.setattr(f"vedette.{module}.INDICATOR_HITS_PAGE", 3)
    follower.publisher.publish(a_report("r", ipv4=["203.0.113.0/24"], dns=["evil.example"]))
    follower.publisher.sync()
    follower.rounds.run()
    both = {"IpAddress": "203.0.113.9", "QueryName": "www.evil.example"}
    for sensor_id in range(1, 8):
        keep(follower, both, both, sensor_id=sensor_id)
    follower.rounds.run()
    assert [row[4] for row in alerts(follower)] == [2] * 14
    assert follower.rounds.run() == 0

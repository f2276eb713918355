"""The simulated day: reproducible, in order, and in the shapes that real senders use."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest

from vedette.model.ids import guid_start_us
from vedette.simulate.day import iter_batches
from vedette.simulate.fleet import OS_OF_ROLE, build_fleet
from vedette.simulate.stories import STORIES

START_US = 1_780_300_800 * 1_000_000
EVENTS = 30_000

Document = dict[str, Any]


def documents(seed: int = 3, events: int = EVENTS, **more: Any) -> Iterator[Document]:
    for batch in iter_batches(build_fleet(seed), START_US, events=events, **more):
        lines = batch.body.splitlines()
        for action, document in zip(lines[::2], lines[1::2], strict=True):
            assert "create" in json.loads(action)
            yield json.loads(document)


@pytest.fixture(scope="module")
def day() -> list[Document]:
    return list(documents())


def sysmon(day: list[Document]) -> Iterator[tuple[str, int, dict[str, str]]]:
    for document in day:
        log = document.get("winlog", {})
        if log.get("channel") == "Microsoft-Windows-Sysmon/Operational":
            yield log["computer_name"], int(log["event_id"]), log["event_data"]


def time_of(document: Document) -> float:
    """Epoch seconds, in any of the formats."""
    if "ID" in document:
        return float(document["ID"].partition(":")[0])
    if "unixTime" in document:
        return float(document["unixTime"])
    text = document.get("@timestamp") or document["time"][:26] + "Z"
    return datetime.fromisoformat(text).timestamp()


def test_the_same_seed_and_start_give_the_same_bytes() -> None:
    def play(seed: int) -> list[bytes]:
        batches = iter_batches(build_fleet(seed), START_US, hours=2, events=2_000)
        return [batch.body for batch in batches]

    assert play(5) == play(5)
    assert play(5) != play(6)


def test_a_day_has_about_as_many_events_as_asked_for(day: list[Document]) -> None:
    story_events = 3_500
    assert EVENTS * 0.97 < len(day) < (EVENTS + story_events) * 1.05


def test_events_come_in_the_order_of_time(day: list[Document]) -> None:
    times = [int(time_of(document)) for document in day]
    assert times == sorted(times)
    assert times[0] >= START_US / 1e6
    assert times[-1] < START_US / 1e6 + 24 * 3600


def test_record_ids_rise_without_gaps_in_every_channel_of_a_host(day: list[Document]) -> None:
    seen: dict[tuple[str, str], list[int]] = defaultdict(list)
    for document in day:
        if "winlog" in document:
            log = document["winlog"]
            seen[log["computer_name"], log["channel"]].append(log["record_id"])
    assert len(seen) > 60
    for numbers in seen.values():
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def test_process_guids_carry_the_second_of_the_start(day: list[Document]) -> None:
    created = [data for _, event_id, data in sysmon(day) if event_id == 1]
    assert len(created) > 500
    for data in created:
        started = datetime.fromisoformat(data["UtcTime"] + "+00:00").timestamp()
        assert guid_start_us(data["ProcessGuid"].strip("{}")) == int(started) * 1_000_000


def test_a_guid_names_one_process_of_one_host(day: list[Document]) -> None:
    named: dict[str, set[tuple[str, str, str]]] = defaultdict(set)
    for host, _, data in sysmon(day):
        if "ProcessGuid" in data:
            named[data["ProcessGuid"]].add((host, data["ProcessId"], data["Image"]))
    assert all(len(names) == 1 for names in named.values())


def test_a_process_that_ends_without_a_creation_ran_before_the_day(day: list[Document]) -> None:
    created: set[str] = set()
    for _, event_id, data in sysmon(day):
        if event_id == 1:
            created.add(data["ProcessGuid"])
        if event_id == 5 and data["ProcessGuid"] not in created:
            # It ran before the day began: its start is earlier than the day.
            assert guid_start_us(data["ProcessGuid"].strip("{}")) < START_US


def test_a_file_of_one_version_has_the_same_hashes_everywhere(day: list[Document]) -> None:
    hashes: dict[tuple[str, str], set[str]] = defaultdict(set)
    for _, event_id, data in sysmon(day):
        if event_id in (1, 7):
            path = data["Image"] if event_id == 1 else data["ImageLoaded"]
            hashes[path.lower(), data["FileVersion"]].add(data["Hashes"])
    assert len(hashes) > 60
    assert all(len(values) == 1 for values in hashes.values())


def test_a_connection_to_a_name_follows_its_dns_query(day: list[Document]) -> None:
    answers: dict[str, str] = {}
    followed = 0
    for _, event_id, data in sysmon(day):
        if event_id == 22:
            address = data["QueryResults"].removeprefix("::ffff:").rstrip(";")
            answers[data["ProcessGuid"]] = address
        elif event_id == 3 and data["Initiated"] == "true":
            followed += answers.get(data["ProcessGuid"]) == data["DestinationIp"]
    assert followed > 1_000


def test_only_domain_controllers_give_tickets(day: list[Document]) -> None:
    givers = {
        document["winlog"]["computer_name"]
        for document in day
        if document.get("winlog", {}).get("event_id") in {"4769", 4769}
    }
    named = {h.name for h in build_fleet(3).hosts if h.role == "domain_controller"}
    assert givers == named != set()


def test_windows_documents_have_the_size_of_real_ones() -> None:
    sizes = []
    for batch in iter_batches(build_fleet(3), START_US, hours=24, events=20_000):
        lines = batch.body.splitlines()[1::2]
        sizes += [len(line) for line in lines if b'"winlog":' in line]
    assert 1_100 < sum(sizes) / len(sizes) < 1_500


def test_hosts_of_three_operating_systems_report_in_their_own_formats(day: list[Document]) -> None:
    formats = Counter(
        next(key for key in ("winlog", "NODE", "event", "hostIdentifier") if key in document)
        for document in day
        if "winlog" in document or "event" not in document or "process" in document
    )
    assert set(formats) == {"winlog", "NODE", "event", "hostIdentifier"}
    assert min(formats.values()) > 100


def test_people_sleep_at_night() -> None:
    browsing = Counter(
        datetime.fromisoformat(document["@timestamp"]).hour
        for document in documents(stories=())
        if "winlog" in document and "chrome" in document["winlog"]["event_data"].get("Image", "")
    )
    assert browsing[10] > 100 > 10 * browsing[2]


def test_every_event_id_a_windows_sensor_reports_is_there(day: list[Document]) -> None:
    ids = {event_id for _, event_id, _ in sysmon(day)}
    assert ids >= {1, 2, 3, 5, 6, 7, 10, 11, 12, 13, 15, 17, 18, 22, 23}
    channels = {d["winlog"]["channel"].partition("/")[0] for d in day if "winlog" in d}
    assert channels >= {"Security", "Microsoft-Windows-PowerShell", "System"}


def test_the_fleet_has_every_role_and_unique_names() -> None:
    for count in (50, 60, 700):
        hosts = build_fleet(1, count).hosts
        assert len({host.name for host in hosts}) == count
        assert len({host.ip for host in hosts}) == count
        assert {host.role for host in hosts} == set(OS_OF_ROLE)


def test_names_and_addresses_outside_are_reserved_ones(day: list[Document]) -> None:
    inside = ("10.",)
    documentation = ("192.0.2.", "198.51.100.", "203.0.113.")
    reserved = (".example", ".example.com", ".example.net", ".example.org", ".test", ".invalid")
    for _, event_id, data in sysmon(day):
        if event_id == 3:
            assert data["DestinationIp"].startswith(inside + documentation)
        if event_id == 22:
            assert data["QueryName"].endswith(reserved)


def test_there_are_at_least_five_stories_with_techniques() -> None:
    assert len(STORIES) >= 5
    for story in STORIES:
        assert len(story.techniques) >= 5
        assert all(technique.startswith("T1") for technique in story.techniques)


@pytest.mark.parametrize(
    ("mark", "count"),
    [
        ("whoami /all", 1),
        ("-NoP -NonI -W Hidden -Enc", 2),
        ("PSEXESVC", 4),
        ("comsvcs.dll, MiniDump", 1),
        ('"GrantedAccess": "0x1fffff"', 2),
        ("errorEE.aspx", 1),
        ("curl -fsSL", 2),
        ("vssadmin delete shadows", 1),
        (".halt", 1_500),
        ("hidden answer", 1),
    ],
)
def test_the_stories_leave_their_traces(day: list[Document], mark: str, count: int) -> None:
    escaped = mark if mark.startswith('"') else json.dumps(mark)[1:-1]
    assert sum(escaped in json.dumps(document) for document in day) >= count


def test_a_short_play_still_has_every_story() -> None:
    text = "".join(json.dumps(document) for document in documents(events=1_000, hours=1))
    for mark in ("MiniDump", "errorEE.aspx", "HOW_TO_RESTORE", "hidden answer", "base64 -d"):
        assert mark in text

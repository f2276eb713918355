"""The load generator's bodies: the same template sent again is new events."""

import json
from datetime import datetime
from typing import Any

import pytest

from vedette.errors import BadRequestError
from vedette.model.ids import guid_start_us
from vedette.simulate.fleet import build_fleet
from vedette.simulate.load import LoadPlan, RateLimiter, split_fleet
from vedette.simulate.template import Cycle, Template, record_templates

NOW_S = 1_790_000_000


@pytest.fixture
def recorded() -> tuple[list[Template], Cycle]:
    return record_templates(build_fleet(1, 12, only="windows"), 4, 400, NOW_S)


def send_all(recorded: tuple[list[Template], Cycle], rounds: int) -> list[dict[str, Any]]:
    """Everything that would be posted, as the server would read it."""
    templates, cycle = recorded
    documents = []
    for turn in range(rounds):
        for template in templates:
            template.fill(cycle, NOW_S + turn)
            lines = bytes(template.body).splitlines()
            assert len(lines) == 2 * template.events
            documents += [json.loads(line) for line in lines[1::2]]
    return [document["winlog"] for document in documents]


def test_record_ids_rise_and_are_never_used_twice(
    recorded: tuple[list[Template], Cycle],
) -> None:
    last: dict[tuple[str, str], int] = {}
    for log in send_all(recorded, 3):
        stream = log["computer_name"], log["channel"]
        assert log["record_id"] == last.get(stream, log["record_id"] - 1) + 1
        assert log["record_id"] < 1 << 48
        last[stream] = log["record_id"]


def test_a_later_run_continues_above_an_earlier_one() -> None:
    fleet = build_fleet(1, 12, only="windows")
    earlier = send_all(record_templates(fleet, 4, 400, NOW_S), 3)
    later = send_all(record_templates(fleet, 4, 400, NOW_S + 1), 1)
    assert max(log["record_id"] for log in earlier) < min(log["record_id"] for log in later)


def test_processes_that_begin_get_a_guid_of_that_second_every_time(
    recorded: tuple[list[Template], Cycle],
) -> None:
    seen = set()
    for log in send_all(recorded, 3):
        data = log["event_data"]
        if log["event_id"] == "1" and "Sysmon" in log["channel"]:
            guid = data["ProcessGuid"].strip("{}")
            started = datetime.fromisoformat(data["UtcTime"] + "+00:00").timestamp()
            assert guid_start_us(guid) == int(started) * 1_000_000
            assert guid not in seen
            seen.add(guid)
    assert len(seen) > 30


def test_a_guid_keeps_its_pid_and_image(recorded: tuple[list[Template], Cycle]) -> None:
    named: dict[str, tuple[str, str]] = {}
    for log in send_all(recorded, 3):
        data = log["event_data"]
        if "ProcessGuid" in data:
            name = (data["ProcessId"], data["Image"])
            assert named.setdefault(data["ProcessGuid"], name) == name


def test_a_process_has_a_few_dozen_events(recorded: tuple[list[Template], Cycle]) -> None:
    logs = send_all(recorded, 6)
    guids = {log["event_data"].get("ProcessGuid") for log in logs}
    assert 8 < len(logs) / len(guids) < 80


def test_times_are_those_of_the_sending(recorded: tuple[list[Template], Cycle]) -> None:
    templates, cycle = recorded
    templates[0].fill(cycle, NOW_S)
    for line in bytes(templates[0].body).splitlines()[1::2]:
        document = json.loads(line)
        assert int(datetime.fromisoformat(document["@timestamp"]).timestamp()) == NOW_S


def test_events_have_the_size_of_real_ones(recorded: tuple[list[Template], Cycle]) -> None:
    templates, _ = recorded
    mean = sum(len(t.body) for t in templates) / sum(t.events for t in templates)
    assert 1_100 < mean < 1_500


def test_an_endpoint_sends_over_one_connection_only() -> None:
    parts = split_fleet(LoadPlan(endpoints=100, connections=3))
    names = [host.name for part in parts for host in part.hosts]
    assert len(parts) == 3
    assert len(names) == len(set(names)) == 100


def test_the_pace_forgets_what_a_slow_server_made_it_miss() -> None:
    limiter = RateLimiter(1_000, now_s=0)
    assert [limiter.wait_s(500, now_s=0) for _ in range(3)] == [0, 0.5, 1.0]
    assert limiter.wait_s(500, now_s=60) == -0.5
    assert limiter.wait_s(500, now_s=60) == 0
    assert limiter.wait_s(500, now_s=60) == 0.5


@pytest.mark.parametrize(
    "wrong", [{"endpoints": 0}, {"seconds": 0}, {"connections": 0}, {"events_per_s": -1}]
)
def test_a_plan_that_cannot_be_sent_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadRequestError):
        LoadPlan(**wrong)

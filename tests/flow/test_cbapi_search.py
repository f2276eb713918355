"""Searching with the public client `cbapi`: facets, groups, bounds, large pages, and queries that
it builds itself (docs/clients.md#requests)."""

from typing import Any

import pytest

from tests.flow.conftest import ONE_SERVER
from tests.support.served import Server
from tests.support.sysmon import Story, story

# cbapi 2.0 was written for older urllib3, attrdict and Python: what it warns of is its own.
pytestmark = [ONE_SERVER, pytest.mark.filterwarnings("ignore")]

MANY = 1_100


@pytest.fixture(scope="module")
def sent_story(server: Server) -> Story:
    """A story, and many short processes next to it."""
    tale = story("cbapi-search.corp.example")
    made = [
        tale.host.process(3000 + n, f"C:\\p\\tool{n % 3}.exe", f"tool {n}", after_s=100)
        for n in range(MANY)
    ]
    records = [*tale.records, *(tale.host.created(one, tale.word) for one in made)]
    with server.sender() as client:
        answer = client.post("/api/v1/ingest", json=records)
    assert answer.status_code == 200, answer.text
    return tale


@pytest.fixture
def processes(cb: Any, sent_story: Story) -> Any:
    """The host's processes, as the client selects them."""
    from cbapi.response import Process

    return cb.select(Process).where(f"hostname:{sent_story.host.name}")


def test_facets_have_every_field_and_numbers(processes: Any) -> None:
    found = processes.facets("process_name", "username_full", "hour_of_day", "group")
    assert set(found) == {"process_name", "username_full", "hour_of_day", "group"}
    counts = {one["name"]: one["value"] for one in found["process_name"]}
    assert counts["tool0.exe"] == 367
    assert sum(float(one["ratio"]) for one in found["process_name"]) == pytest.approx(100, abs=1)
    assert max(one["percent"] for one in found["process_name"]) == 100


def test_grouping_gives_one_row_for_each_process(processes: Any) -> None:
    assert len(processes.group_by("id")) == MANY + 4
    assert len({one.id for one in processes.group_by("id").sort("start asc")}) == MANY + 4


def test_updates_can_be_bounded(processes: Any) -> None:
    assert len(processes.min_last_update("2020-01-01T00:00:00")) == MANY + 4
    assert len(processes.max_last_update("2020-01-01T00:00:00")) == 0
    assert len(processes.min_last_server_update("2037-01-01T00:00:00")) == 0
    assert len(processes.max_last_server_update("2037-01-01T00:00:00")) == MANY + 4


def test_a_thousand_rows_are_paged_without_a_gap(processes: Any) -> None:
    tools = processes.and_("process_name:tool*").sort("process_pid asc")
    assert [one.process_pid for one in tools[:1000]] == list(range(3000, 4000))


def test_clauses_are_joined_as_ands(processes: Any, sent_story: Story) -> None:
    found = list(processes.and_("filemod:up.exe").and_("domain:c2.evil.example"))
    assert [one.process_md5 for one in found] == [sent_story.powershell.md5]


def test_a_comprehensive_search_is_understood_without_a_prefix(
    processes: Any, sent_story: Story
) -> None:
    query = processes.and_("filemod:up.exe -modload:nothing.dll").use_comprehensive_search()
    assert [one.process_md5 for one in query] == [sent_story.powershell.md5]


def test_what_a_shell_user_types_is_understood(cb: Any, sent_story: Story) -> None:
    from cbapi.response import Process

    query = (
        f"(process_name:powershell.exe or process_name:cmd.exe) cmdline:-enc "
        f'-path:c:\\temp\\* username:"CORP\\ann" start:-24h hostname:{sent_story.host.name}'
    )
    assert [one.process_pid for one in cb.select(Process).where(query)] == [1100]

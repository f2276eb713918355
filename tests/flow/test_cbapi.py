"""The public client `cbapi`, unmodified, against a running server
(docs/clients.md#transport-and-errors)."""

from typing import Any

import pytest

from tests.flow.conftest import ONE_SERVER
from tests.support.served import Server
from tests.support.sysmon import Story, story

# cbapi 2.0 was written for older urllib3, attrdict and Python: what it warns of is its own.
pytestmark = [ONE_SERVER, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def sent_story(server: Server) -> Story:
    """A story that is stored once its post is answered."""
    tale = story("cbapi-host.corp.example")
    with server.sender() as client:
        answer = client.post("/api/v1/ingest", json=tale.records)
    assert answer.status_code == 200, answer.text
    assert answer.json()["rejected"] == 0
    return tale


def processes(cb: Any, query: str) -> list[Any]:
    from cbapi.response import Process

    return list(cb.select(Process).where(query))


def powershell(cb: Any, sent_story: Story) -> Any:
    (found,) = processes(cb, f"process_name:powershell.exe hostname:{sent_story.host.name}")
    return found


def test_a_client_connects_and_learns_the_version(cb: Any) -> None:
    assert str(cb.cb_server_version) == "7.7.1.230308"


def test_a_bad_token_is_unauthorized(server: Server) -> None:
    from cbapi.errors import UnauthorizedError
    from cbapi.response import CbResponseAPI

    with pytest.raises(UnauthorizedError):
        CbResponseAPI(url=server.url, token="0" * 40, ssl_cert_file=str(server.certificate))


def test_a_search_finds_the_process_with_its_fields(cb: Any, sent_story: Story) -> None:
    found = powershell(cb, sent_story)
    assert found.id.endswith(sent_story.powershell.sensor_less_id)
    assert found.cmdline == sent_story.powershell.command_line
    assert found.username == "CORP\\ann"
    assert found.hostname == sent_story.host.name
    assert int(found.start.timestamp()) >= 0
    assert found.process_md5 == sent_story.powershell.md5


def test_paging_meets_every_result_once(cb: Any, server: Server) -> None:
    from cbapi.response import Process

    tale = story("paging-host.corp.example")
    made = [
        tale.host.process(2000 + n, "C:\\p\\page.exe", f"page.exe {n}", after_s=100)
        for n in range(250)
    ]
    with server.sender() as client:
        records = [tale.host.created(one, tale.word) for one in made]
        assert client.post("/api/v1/ingest", json=records).status_code == 200
    query = cb.select(Process).where(f"process_name:page.exe hostname:{tale.host.name}")
    assert len(query) == 250
    assert sorted(one.cmdline for one in query) == sorted(one.command_line for one in made)


def test_a_malformed_query_is_a_syntax_error(cb: Any) -> None:
    from cbapi.errors import QuerySyntaxError

    with pytest.raises(QuerySyntaxError):
        processes(cb, "process_name:(a")


def test_events_come_apart_as_they_were_reported(cb: Any, sent_story: Story) -> None:
    found = powershell(cb, sent_story)
    (connection,) = found.netconns
    assert (connection.remote_ip, connection.remote_port) == ("203.0.113.9", 443)
    assert (connection.direction, connection.domain) == ("Outbound", "c2.evil.example")
    (written,) = found.filemods
    assert written.path.lower().endswith("\\temp\\up.exe")
    assert [module.md5 for module in found.modloads] == ["ab" * 16]
    assert [one.path.lower().endswith("\\run\\updater") for one in found.regmods] == [True]


def test_all_events_of_all_segments_are_met_in_order_of_time(cb: Any, sent_story: Story) -> None:
    events = powershell(cb, sent_story).all_events
    kinds = [type(event).__name__ for event in events]
    # Children are not among them: the client takes those from a summary it has not asked for.
    assert kinds == ["CbModLoadEvent", "CbNetConnEvent", "CbFileModEvent", "CbRegModEvent"]


def test_segments_are_listed_with_readable_ids(cb: Any, sent_story: Story) -> None:
    found = powershell(cb, sent_story)
    assert found.segment_id in found.get_segments()


def test_children_lead_to_their_processes(cb: Any, sent_story: Story) -> None:
    found = powershell(cb, sent_story)
    (child,) = found.children
    assert child.process.cmdline == "whoami /all"
    assert child.process.id.endswith(sent_story.whoami.sensor_less_id)


def test_parents_are_walked_up_to_the_unknown(cb: Any, sent_story: Story) -> None:
    (leaf,) = processes(cb, f"process_name:whoami.exe hostname:{sent_story.host.name}")
    names = [parent.process_name.lower() for parent in leaf.parents]
    assert names[:2] == ["powershell.exe", "winword.exe"]


def test_the_process_leads_to_its_sensor(cb: Any, sent_story: Story) -> None:
    found = powershell(cb, sent_story)
    assert found.sensor.computer_dns_name == sent_story.host.name
    assert found.sensor.os == "Windows"


def test_sensors_are_listed_page_by_page(cb: Any, sent_story: Story) -> None:
    from cbapi.response import Sensor

    assert sent_story.host.name in {one.computer_dns_name for one in cb.select(Sensor)}


def test_partitions_have_a_hot_writer_and_can_be_rolled(cb: Any) -> None:
    from cbapi.response import StoragePartition

    before = {one.name for one in cb.select(StoragePartition)}
    assert "writer" in before
    cb.create_new_partition()
    after = {one.name: one.status for one in cb.select(StoragePartition)}
    assert after["writer"] == "hot"
    assert len(after) == len(before) + 1

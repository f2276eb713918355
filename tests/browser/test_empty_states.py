"""Text of a list without rows: no data was sent yet and how to send some, or all rows are
hidden."""

import subprocess
from collections.abc import Iterator

import pytest

from tests.browser.conftest import Visiting
from tests.browser.test_accessibility import settled, violations
from tests.support.served import Server, hire, open_group, serving, wait_for
from tests.support.sysmon import story
from vedette.model.principal import Role

LISTS = ("/ui/process", "/ui/process?t=all&q=process_name:none.exe", "/ui/alerts", "/ui/binary")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """It counts what its readers may not see."""
    with serving(tmp_path_factory.mktemp("empty"), "--set", "count_filtered_results=true") as made:
        yield made


@pytest.fixture(scope="module")
def outsider(server: Server) -> dict[str, str]:
    """Who sees a group without hosts."""
    group, _ = open_group(server, "Without hosts")
    return {"X-Auth-Token": hire(server, "outsider", {group: Role.VIEWER})}


def test_a_command_for_a_shell_has_nothing_of_a_made_up_host_header(server: Server) -> None:
    with server.analyst() as client:
        for host in ("a'$(id)'.example", "a;id.example", "a b"):
            page = client.get("/ui/process?t=all", headers={"Host": host}).text
            assert "id" not in page.partition("/api/v1/ingest")[0].rpartition("curl")[2]
            assert "https://SERVER/api/v1/ingest" in page


def test_an_empty_server_says_how_to_send_and_what_it_says_works(
    visiting: Visiting, server: Server, outsider: dict[str, str]
) -> None:
    with visiting() as visit:
        for path in LISTS:
            page = visit.open(path)
            settled(page)
            assert "No data yet" in page.inner_text("main"), path
            assert violations(page) == []
        command = page.inner_text("[data-no-data] pre")
    with visiting(cookie=None, extra_http_headers=outsider) as visit:
        for path in LISTS:
            page = visit.open(path)
            assert "No host in your sensor groups has sent data" in page.inner_text("main")
            assert page.locator("[data-no-data] pre").count() == 0
    script = command.replace("data/tls/cert.pem", str(server.certificate))
    environment = {"INGEST": server.ingest_token, "PATH": "/usr/bin:/bin"}
    subprocess.run(["sh", "-c", script], env=environment, check=True, timeout=30)
    with server.analyst() as client:
        query = {"q": "process_name:whoami.exe last_update:[-1h TO *]"}

        def found() -> int:
            return int(client.get("/api/v1/process", params=query).json()["total_results"])

        assert wait_for(found, 1) == 1


def test_what_is_hidden_whole_is_said_where_the_server_counts_it(
    visiting: Visiting, server: Server, outsider: dict[str, str]
) -> None:
    with server.sender() as client:
        records = story("hidden<i>.example").records
        assert client.post("/api/v1/ingest", json=records).status_code == 200
    with visiting(cookie=None, extra_http_headers=outsider) as visit:
        page = visit.open("/ui/process?t=all&q=process_name:powershell.exe")
        settled(page)
        assert "All results are hidden by your permissions" in page.inner_text("main")
        assert "Matches on hosts that you cannot see: 1" in page.inner_text("main .state")
        assert "hidden<i>" not in page.inner_text("main")
        assert violations(page) == []
        page = visit.open("/ui/process?t=all&q=process_name:none.exe")
        assert "No data yet" in page.inner_text("main")
    with visiting() as visit:
        page = visit.open("/ui/process?t=all&q=process_name:none.exe")
        assert "No results" in page.inner_text("main")


def test_where_the_server_does_not_count_nothing_is_said_of_what_is_hidden(
    visiting: Visiting, shared_server: Server
) -> None:
    group, _ = open_group(shared_server, "Without any hosts")
    token = hire(shared_server, "outsider", {group: Role.VIEWER})
    with shared_server.client(**{"X-Auth-Token": token}) as client:
        for path in LISTS:
            shown = client.get(path).text
            assert "No data yet" in shown
            assert "hidden by" not in shown

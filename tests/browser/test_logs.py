"""Logs: records newest first, opened by keyboard with all their data, narrowed by a facet; a host
leads to its own."""

from collections.abc import Iterator

import pytest

from tests.api.test_logs import records
from tests.browser.conftest import Visiting, until
from tests.support.served import Server, start_server

HOSTS = ("dc1.corp.example", "dc2.corp.example")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    for server in start_server(tmp_path_factory.mktemp("server")):
        with server.sender() as client:
            for host in HOSTS:
                answer = client.post("/api/v1/ingest", json=records(host))
                assert answer.json()["rejected"] == 0, answer.text
        yield server


def test_a_record_opens_with_all_its_data_by_keyboard(visiting: Visiting) -> None:
    with visiting() as visit:
        page = visit.open("/ui/log?t=all&q=event_id:4625")
        assert page.locator("tr[data-row]").count() == len(HOSTS)
        page.locator("tr[data-row='1']").focus()
        page.keyboard.press("Enter")
        until(page, "document.querySelectorAll('tr.record details[open]').length === 1")
        data = page.locator("#record-1").inner_text()
        assert "FailureReason" in data
        assert "%%2313" in data


def test_a_facet_narrows_the_records(visiting: Visiting) -> None:
    with visiting() as visit:
        page = visit.open("/ui/log?t=all")
        page.locator("[data-facet=hostname] [data-narrow=only]").first.click()
        until(page, "document.querySelectorAll('tr[data-row]').length === 4")
        assert "hostname" in page.locator("[data-query]").input_value()
        assert "t=all" in page.url


def test_a_query_that_cannot_be_read_shows_its_place(visiting: Visiting) -> None:
    with visiting() as visit:
        page = visit.open("/ui/log?t=all&q=logon_kind:3")
        assert page.locator("[role=alert] mark").inner_text() == "logon_kind"


def test_a_host_leads_to_its_records(visiting: Visiting) -> None:
    with visiting() as visit:
        page = visit.open("/ui/sensors/1")
        assert page.locator("a[href='/ui/log?q=sensor_id%3A1']").count() == 1

"""Pages of a store that lost a part of what it held: none says that there is nothing."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.test_alerts import RULE, hit
from tests.browser.conftest import Visiting
from tests.browser.test_accessibility import COLOURS, settled, violations
from tests.support.served import Server, serving
from tests.support.sysmon import story
from tests.support.written_detections import write_detections

LIES = ("Queue is clear", "No results", "No programs")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    data = tmp_path_factory.mktemp("partial")
    with serving(data) as whole:
        with whole.sender() as client:
            records = story("partial.example").records
            assert client.post("/api/v1/ingest", json=records).status_code == 200
        with whole.analyst() as client:
            rows = client.get("/api/v1/process", params={"rows": "50"}).json()["results"]
    write_detections(data, [hit(row, RULE, "why it fired") for row in rows])
    lose(data, "segment")
    lose(data, "alert")
    with serving(data) as damaged:
        yield damaged


def lose(data: Path, table: str) -> None:
    """The bytes of what a table holds."""
    parts = (data / "telemetry/clickhouse/data/vedette" / table).resolve()
    found = [path for path in parts.glob("*/data.bin") if "detached" not in path.parts]
    assert found
    for path in found:
        path.unlink()


@pytest.mark.parametrize("path", ["/ui/process?t=all", "/ui/alerts", "/ui/alerts?q=", "/ui/"])
def test_what_could_be_read_in_part_is_not_called_nothing(visiting: Visiting, path: str) -> None:
    with visiting(color_scheme="light") as visit:
        page = visit.open(path)
        settled(page)
        shown = page.inner_text("main")
        assert "could be read" in shown
        assert [lie for lie in LIES if lie in shown] == []
        assert violations(page) == []
        page.emulate_media(color_scheme="dark")
        page.wait_for_timeout(300)
        assert violations(page, COLOURS) == []


def test_a_search_says_how_much_of_the_store_it_read(visiting: Visiting, server: Server) -> None:
    with server.analyst() as client:
        read = client.get("/api/v1/process", params={"rows": 0}).json()["read"]
    assert (read["partitions"], read["of_partitions"], read["since"]) == (0, 1, None)
    assert read["damaged_parts"] > 0
    with visiting() as visit:
        page = visit.open("/ui/process?t=all")
        settled(page)
        assert page.inner_text("[data-read]") == "0 of 1 data blocks searched"

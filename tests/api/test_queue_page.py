"""The page of a full queue of alerts, as it is sent."""

import re
from collections.abc import Iterator

import pytest
from sqlalchemy import update

from tests.api.test_alerts import hit
from tests.support.page_budget import PAGE_GZIP_BYTES_MAX, sent_bytes
from tests.support.served import Server, state_of
from tests.support.sysmon import story
from tests.support.written_detections import alerted_server
from vedette.model.findings.detection import Detection, Source
from vedette.state.db.schema import SENSOR

HOST = "a-host-with-a-long-name.queue.example"
RULES = 120
ELEMENTS_MAX = 2_500
THREE = "q=&by=rule&then=process&last=user"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    def detect(server: Server) -> list[Detection]:
        with server.sender() as client:
            assert client.post("/api/v1/ingest", json=story(HOST).records).status_code == 200
        with server.analyst() as client:
            rows = client.get("/api/v1/process", params={"rows": "50"}).json()["results"]
        return [
            hit(row, Source("rule", f"{number:08}"), f"Finding {number}")
            for number in range(RULES)
            for row in rows
        ]

    with alerted_server(tmp_path_factory.mktemp("queue"), detect) as server:
        with state_of(server) as database, database.writing() as connection:
            connection.execute(update(SENSOR).values(network_isolation_enabled=True))
        yield server


@pytest.mark.parametrize(
    "view", ["q=", "q=&by=host", "q=&by=rule&then=process", "q=&by=user", THREE]
)
def test_a_page_of_the_queue_has_few_elements(server: Server, view: str) -> None:
    with server.analyst() as client:
        page = client.get(f"/ui/alerts?{view}", headers={"Accept": "text/html"})
        sent = sent_bytes(client, f"/ui/alerts?{view}")
    assert page.is_success
    assert sent <= PAGE_GZIP_BYTES_MAX
    assert 500 < len(re.findall(r"<[a-z]", page.text)) <= ELEMENTS_MAX
    groups = int(re.search(r"alerts in (\d+) group", page.text)[1])
    shown = len(re.findall('class="group (outer)?"', page.text))
    assert (groups > shown) is bool(re.search(r"most severe(?! of)", page.text))
    rows = re.findall(
        r'<td class="time">.*? <span class="meta age"[^>]*>(\d+) (ms|s|min)</span> ?</td>',
        " ".join(page.text.split()),
    )
    assert len(rows) == page.text.count('<td class="host"')
    assert page.text.count('aria-label="isolation pending"') == len(rows)
    for within, all_of_them in re.findall(r"the (\d+) most severe of (\d+)", page.text):
        assert int(all_of_them) > int(within)
    levels = page.text.count("most severe of")
    assert levels == view.count("then=") + view.count("last=")


def test_one_alert_is_in_the_singular(server: Server) -> None:
    query = {"q": 'title:"Finding 7" process_name:whoami.exe'}
    with server.analyst() as client:
        pages = {
            language: client.get("/ui/alerts", params=query, headers={"Accept-Language": language})
            for language in ("en", "de")
        }
    text = {name: " ".join(re.sub(r"<[^>]+>", "", one.text).split()) for name, one in pages.items()}
    assert "1 alert in 1 group ·" in text["en"]
    assert "1 alert · 1 host · last" in text["en"]
    assert 'aria-label="The alert in Finding 7"' in pages["en"].text
    assert "1 Alarm in 1 Gruppe ·" in text["de"]
    assert "1 Alarm · 1 Host · letzter" in text["de"]

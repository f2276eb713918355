"""The timeline of a process with more events than its page reads at once: what is not read is drawn
as the server counts it, and what is looked at closely is read."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pytest

from tests.browser.conftest import Visit, Visiting, until
from tests.support.served import Server, start_server
from tests.support.sysmon import Host

HOST = "long.example"
FIRST = 400
"""Events that the page reads at once here."""
EVENTS = 2_600
HEIGHT = 905
"""Height of windows that no other test uses: their pages read fewer events."""
LANES = ("filemod", "modload", "regmod", "netconn", "childproc", "crossproc", "processblock")
LESS = f"""document.addEventListener("readystatechange", () => {{
  const place = document.getElementById("analysis");
  if (place) place.dataset.events = "{FIRST}";
}}, {{ once: true }})"""
HOLD = """async () => {
  const { Timeline } = await import(new URL("timeline.js",
    document.querySelector("script[type=module]").src));
  const draw = Timeline.prototype.draw;
  Timeline.prototype.draw = function () {
    window.line = this;
    return draw.call(this);
  };
  document.getElementById("timeline").style.width = "90%";
}"""
DRAWN = """() => ({
  view: line.view,
  marks: [...line.times].map((time, at) => [time, line.laneBy[at]]),
  bars: line.density.filter((one) => one.lane >= 0)
    .map((one) => [one.t, one.width, one.lane, one.count]),
})"""

Event = tuple[float, int]
"""Its time in milliseconds, as pages have it, and its lane."""


@dataclass
class Drawn:
    """Contents of a timeline."""

    view: tuple[float, float]
    marks: list[Event]
    bars: list[tuple[float, float, int, int]]

    def is_in_view(self, time: float) -> bool:
        return self.view[0] <= time <= self.view[1]

    def shows(self, stored: list[Event]) -> None:
        """Every mark is an event, every bar counts the events of its span that are no marks."""
        assert Counter(self.marks) <= Counter(stored)
        unread = Counter(stored) - Counter(self.marks)
        for start, width, lane, count in self.bars:
            within = [
                number
                for (time, own), number in unread.items()
                if own == lane and start <= time < start + width
            ]
            assert count == sum(within) > 0, (start, width, lane)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    yield from start_server(tmp_path_factory.mktemp("long"))


@pytest.fixture(scope="module")
def process(server: Server) -> str:
    """Process that wrote files and keys in bursts over four hours."""
    host = Host(HOST)
    host.began_s -= 5 * 3600
    busy = host.process(1000, "C:\\busy.exe")
    records = [host.created(busy, host.process(900, "C:\\Windows\\explorer.exe"))]
    for at in range(EVENTS):
        after_s = 60 * (at // 12) + (at % 12) ** 1.5
        name = {"TargetFilename": f"C:\\busy\\{at}.txt"}
        key = {"EventType": "SetValue", "TargetObject": f"HKLM\\SOFTWARE\\Busy\\{at}"}
        kind, data = (11, name) if at % 3 else (13, key)
        records.append(host.of(busy, kind, after_s, **data))
    with server.sender() as sender:
        for first in range(0, len(records), 1_000):
            batch = records[first : first + 1_000]
            assert sender.post("/api/v1/ingest", json=batch).status_code == 200
    with server.analyst() as client:
        query = {"q": f"hostname:{HOST} process_name:busy.exe", "rows": 1}
        return str(client.get("/api/v1/process", params=query).json()["results"][0]["id"])


@pytest.fixture(scope="module")
def stored(server: Server, process: str) -> list[Event]:
    """Its events as the API has them."""
    body = {"process_id": process, "segment_id": 1}
    with server.analyst() as client:
        stream = client.post("/api/v6/process/stream", json=body).json()["stream_id"]
        found = client.get(f"/api/v6/process/stream/{stream}", params={"rows": 10_000}).json()
    events = [(milliseconds(one["time"]), LANES.index(one["type"])) for one in found["events"]]
    assert len(events) >= EVENTS
    return events


def milliseconds(text: str) -> float:
    return int(datetime.fromisoformat(text).timestamp() * 1_000_000) // 1_000


def drawn(page: Any) -> Drawn:
    found = page.evaluate(DRAWN)
    marks = [(time, lane) for time, lane in found["marks"]]
    return Drawn(tuple(found["view"]), marks, [tuple(one) for one in found["bars"]])


def press(visit: Visit, key: str) -> None:
    """A key that moves the view, until what is looked at then is read."""
    with visit.page.expect_response(lambda one: "/timeline?" in one.url):
        visit.page.keyboard.press(key)
    visit.settle()


def test_what_is_not_read_is_counted_and_what_is_looked_at_is_read(
    visiting: Visiting, process: str, stored: list[Event]
) -> None:
    with visiting(height=HEIGHT) as visit:
        visit.page.add_init_script(LESS)
        page = visit.open(f"/ui/process/{process}")
        page.wait_for_selector("[data-loaded]")
        page.evaluate(HOLD)
        until(page, "Boolean(window.line)")
        whole = drawn(page)
        assert len(whole.marks) == FIRST
        assert FIRST + sum(count for _, _, _, count in whole.bars) == len(stored)
        whole.shows(stored)
        page.keyboard.press("2")
        press(visit, "+")  # half of it, with as much around it: too much to be read
        drawn(page).shows(stored)
        assert len(drawn(page).marks) == FIRST
        press(visit, "+")
        near = drawn(page)
        near.shows(stored)
        wanted = [one for one in stored if near.is_in_view(one[0])]
        assert [one for one in near.marks if near.is_in_view(one[0])] == wanted
        assert 0 < len(wanted) < len(stored) / 3
        assert not any(near.is_in_view(start) for start, *_ in near.bars)
        press(visit, "Shift+ArrowRight")
        moved = drawn(page)
        assert moved.marks[-1] > near.marks[-1]
        moved.shows(stored)
        assert [one for one in moved.marks if moved.is_in_view(one[0])] == [
            one for one in stored if moved.is_in_view(one[0])
        ]


def test_an_event_that_is_not_read_at_once_is_there_by_its_address(
    visiting: Visiting, process: str, stored: list[Event]
) -> None:
    time, _ = stored[-100]
    with visiting(height=HEIGHT) as visit:
        visit.page.add_init_script(LESS)
        page = visit.open(f"/ui/process/{process}?sel={int(time)}")
        page.wait_for_selector("#events [aria-selected=true]")
        visit.settle()
        said = str(page.get_attribute(".timeline-cursor", "aria-valuetext"))
        assert f"C:\\busy\\{EVENTS - 100}.txt" in said
        page.focus(".timeline-cursor")
        page.keyboard.press("ArrowRight")
        said = str(page.get_attribute(".timeline-cursor", "aria-valuetext"))
        assert f"C:\\busy\\{EVENTS - 99}.txt" in said
        assert f"sel={int(stored[-99][0])}" in page.url

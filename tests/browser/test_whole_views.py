"""Complete views beyond the window: in print, under each mark, in each time zone, by address, and
after going back."""

import random
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tests.api.test_alerts import RULE, hit
from tests.browser.conftest import AT_LENGTH, Visit, Visiting, until
from tests.support import pdf_text
from tests.support.served import Server
from tests.support.sysmon import story
from tests.support.written_detections import alerted_server
from vedette.model.findings.detection import Detection

HOST = "whole.example"
CORPUS = Path(__file__).parents[1] / "corpus"
PRINTED, SAID = CORPUS / "printed", CORPUS / "spoken"
FILES = 120
TURNED = "photo_\u202egnp.exe"
SHOWN = "photo_U+202Egnp.exe"
EVENTS = 100_000
PROBES = 100
STEPS = 20
SEED = 20261126
SIGMA = """title: Whole
id: 5f3c2a10-0000-4000-8000-00000000abcf
level: {level}
logsource: {{product: windows, category: process_creation}}
detection: {{one: {{Image: c:\\none.exe}}, condition: one}}
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    def detect(server: Server) -> list[Detection]:
        tale = story(HOST)
        files = [
            tale.host.of(tale.whoami, 11, 0.5 + at / FILES, TargetFilename=f"C:\\t\\{at:03}.txt")
            for at in range(FILES)
        ]
        turned = tale.host.process(1_300, f"C:\\Users\\{TURNED}", f"{TURNED} /s", 31)
        records = [*tale.records, *files, tale.host.created(turned, tale.whoami)]
        with server.sender() as client:
            assert client.post("/api/v1/ingest", json=records).status_code == 200
        with server.analyst() as client:
            for level in ("low", "high"):
                body = {"text": SIGMA.format(level=level)}
                assert client.post("/api/v1/sigma", json=body).is_success
        return [hit(row, RULE, "why it fired") for row in processes(server)]

    with alerted_server(tmp_path_factory.mktemp("whole"), detect) as server:
        yield server


def processes(server: Server) -> list[dict[str, Any]]:
    with server.analyst() as client:
        query = {"q": f"hostname:{HOST}", "rows": "50"}
        return list(client.get("/api/v1/process", params=query).json()["results"])


@pytest.fixture(scope="module")
def known(server: Server) -> dict[str, str]:
    rows = {one["process_name"]: one for one in processes(server)}
    shell = rows["powershell.exe"]
    names = {"process": shell["id"], "md5": shell["process_md5"], "other": rows["whoami.exe"]["id"]}
    return names | {"turned": rows[TURNED]["id"]}


VARIES = {
    r"\d{4}-\d\d-\d\d\d\d:\d\d(:\d\d(\.\d{3})?)?Z": "<time>",
    r"\d\d:\d\d:\d\d(\.\d{3})?Z": "<clock>",
    r"(?<=<time>)\d+(s|min)": "",
    r"\d+(?=<time>)": "<number>",
    r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}": "<id>",
    r"latestentry\d+,hash[0-9a-f]{16}": "<newest>",
    r"\d+ms": "<took>",
    r"\d+sbehind": "<behind>",
    r"\d{4}-\d\d-\d\d": "<day>",
}
"""Replacements in text without spaces, because its line breaks depend on the machine's fonts."""


def steady(text: str) -> str:
    text = "".join(text.split())
    for pattern, name in VARIES.items():
        text = re.sub(pattern, name, text)
    return text


def printed(page: Any) -> str:
    """The text of the paper, without the numbers of its pages."""
    found = pdf_text.pages(page.pdf(format="A4", prefer_css_page_size=True))
    for at, text in enumerate(found, 1):
        assert text.startswith(f"{at} / {len(found)} ")
    return " ".join(text.partition(f"/ {len(found)} ")[2] for text in found)


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("alert", "/ui/alerts?q=process_name:whoami.exe"),
        ("analysis", "/ui/process/{process}"),
        ("binary", "/ui/binary/{md5}"),
        ("audit", "/ui/audit?target=5f3c2a10-0000-4000-8000-00000000abcf"),
    ],
)
def test_what_is_printed_is_the_committed_text(
    visiting: Visiting, known: dict[str, str], name: str, path: str
) -> None:
    with visiting() as visit:
        page = visit.open(path.format(**known))
        visit.settle()
        text = printed(page)
        assert steady(text) == steady((PRINTED / f"{name}.txt").read_text()), text


def test_paper_has_the_events_that_a_window_has_no_room_for(
    visiting: Visiting, known: dict[str, str]
) -> None:
    with visiting() as visit:
        page = visit.open(f"/ui/process/{known['other']}")
        visit.settle()
        names = [f"C:\\t\\{at:03}.txt" for at in range(FILES)]
        assert page.locator("#events .windowed-row").count() < FILES
        text = printed(page)
        assert [one for one in names if one not in text] == []


MAKE = """async ([count, seed]) => {
  const { Timeline } = await import(new URL("timeline.js",
    document.querySelector("script[type=module]").src));
  const place = Object.assign(document.createElement("div"), { id: "probed" });
  document.getElementById("analysis").hidden = true;
  document.querySelector("main").append(place);
  let state = seed;
  const random = () => (state = (state * 48271) % 2147483647) / 2147483647;
  let time = 1.7e12;
  const times = Array.from({ length: count }, () => (time += random() ** 4 * 2000));
  const lanes = times.map(() => Math.floor(random() * 7));
  window.line = new Timeline(place, {
    onSelect: (at) => (window.selected = at), onRange() {}, describe: (at) => `event ${at}`,
  });
  line.resize();
  line.set(times, lanes);
  line.draw();
  return [times, lanes];
}"""
LOOK = """([at, span, share]) => {
  const time = line.times[at], box = line.canvas.getBoundingClientRect();
  line.view = [time - span * share, time + span * (1 - share)];
  line.touched = true;
  line.draw();
  return [box.left + line.x(time), box.top + (line.laneBy[at] + 0.5) * 20, box.left];
}"""
POINTED = "(x) => line.ms(x - line.canvas.getBoundingClientRect().left)"
SELECTED = """() => {
  line.draw();
  const at = line.at, x = line.x(line.times[at]), y = (line.laneBy[at] + 0.5) * 20;
  const [left, top] = [x * devicePixelRatio, y * devicePixelRatio];
  const [r, g, b] = line.context.getImageData(left, top, 1, 1).data;
  const said = line.cursor.getAttribute("aria-valuetext");
  return [window.selected, at, `rgb(${r}, ${g}, ${b})` === line.colours().high, said];
}"""


def test_the_mark_under_the_pointer_and_the_keys_is_the_right_one_of_100000(
    visiting: Visiting, known: dict[str, str]
) -> None:
    rng = random.Random(SEED)
    with visiting() as visit:
        page = visit.open(f"/ui/process/{known['process']}")
        visit.settle()
        times, lanes = page.evaluate(MAKE, [EVENTS, SEED])
        by_lane = [[at for at in range(EVENTS) if lanes[at] == lane] for lane in range(7)]
        whole = times[-1] - times[0]
        for _ in range(PROBES):
            meant = rng.randrange(EVENTS)
            look = [meant, whole * 10 ** -rng.uniform(0, 5.5), rng.uniform(0.1, 0.9)]
            x, y, _ = page.evaluate(LOOK, look)
            page.mouse.click(round(x), y)
            found, at, is_drawn, said = page.evaluate(SELECTED)
            pointed = page.evaluate(POINTED, round(x))
            nearest = min(abs(times[one] - pointed) for one in by_lane[lanes[meant]])
            assert found == at
            assert lanes[at] == lanes[meant]
            assert abs(times[at] - pointed) == pytest.approx(nearest, abs=1e-3), (SEED, meant)
            assert is_drawn
            assert said == f"event {at}, mark {at + 1} of {EVENTS}"
            page.focus("#probed .timeline-cursor")
            step = rng.choice((-1, 1))
            page.keyboard.press("ArrowRight" if step == 1 else "ArrowLeft")
            there = max(0, min(EVENTS - 1, at + step))
            found, at, is_drawn, said = page.evaluate(SELECTED)
            assert (found, at, is_drawn) == (there, there, True), (SEED, meant)
            assert said == f"event {at}, mark {at + 1} of {EVENTS}"


NIGHTS = {
    "America/St_Johns": ("2026-03-08T03:00", "2026-11-01T02:00"),
    "Asia/Kolkata": ("2026-03-29T00:00", "2026-10-25T00:00"),
    "Europe/Berlin": ("2026-03-29T00:00", "2026-10-25T00:00"),
}
"""When hours are left out or come twice, in UTC; Kolkata has no such night."""


@pytest.mark.parametrize("zone", NIGHTS)
def test_times_are_right_in_a_night_when_clocks_change(
    visiting: Visiting, known: dict[str, str], zone: str
) -> None:
    begins = [datetime.fromisoformat(one).replace(tzinfo=UTC) for one in NIGHTS[zone]]
    moments = [one + timedelta(minutes=15 * at) for one in begins for at in range(20)]
    put = """(all) => document.querySelector("main").replaceChildren(...all.map((ms) => {
      const one = document.createElement("time");
      one.dataset.time = ms;
      return one;
    }))"""
    read = "[...document.querySelectorAll('main time')].map((one) => one.textContent)"
    with visiting(timezone_id=zone) as visit:
        page = visit.open("/ui/bans")
        visit.settle()
        page.evaluate(put, [int(one.timestamp() * 1_000) for one in moments])
        page.keyboard.press("z")
        local = [f"{one.astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M:%S}.000" for one in moments]
        assert page.evaluate(read) == local
        for _ in range(2):  # of a host, which no page of bans has, and in UTC
            page.keyboard.press("z")
            assert page.evaluate(read) == [f"{one:%Y-%m-%d %H:%M:%S}.000Z" for one in moments]
        visit.settle()  # the preference is kept


MOVES = (
    "main a[href^='/ui/'], main th a, nav a[href^='/ui/'], "
    "tr[data-flyout] td.time, [data-fold-all], [data-action=toggle-facets]"
)
MOVING = ("/ui/audit", "/ui/data", "/ui/jobs", "/ui/settings")
"""Pages whose content changes without user input."""


def steps(visit: Visit, rng: random.Random) -> Iterator[None]:
    """Clicks what leads to another view, again and again."""
    page = visit.page
    while True:
        before = page.url
        places = [one for one in page.locator(MOVES).all() if one.is_visible()]
        hrefs = [one.get_attribute("href") or "" for one in places]
        fit = [
            one
            for one, href in zip(places, hrefs, strict=True)
            if not href.startswith(MOVING) and href != "/ui/" and "download" not in href
        ]
        rng.choice(fit).click()
        page.wait_for_selector("html[data-ready]")
        visit.settle()
        if page.url != before:
            yield


@AT_LENGTH
def test_twenty_random_steps_are_there_again_when_going_back_and_forward(
    visiting: Visiting, known: dict[str, str]
) -> None:
    rng = random.Random(SEED)
    link = """async () => (await import(new URL("copy.js",
      document.querySelector("script[type=module]").src))).absoluteLink()"""
    with visiting() as visit, visiting() as other:
        page = visit.open("/ui/process?t=all")
        seen = [(page.url, visit.text())]
        depth = page.evaluate("history.length")
        for _, _ in zip(range(STEPS), steps(visit, rng), strict=False):
            here = (page.url, visit.text())
            if page.evaluate("history.length") == depth:
                seen[-1] = here  # the same entry, seen otherwise
            else:
                seen.append(here)
            depth = page.evaluate("history.length")
            other.page.goto(page.evaluate(link))
            other.page.wait_for_selector("html[data-ready]")
            assert other.text() == here[1], here[0]
        for url, shown in reversed(seen[:-1]):
            page.go_back()
            page.wait_for_selector("html[data-ready]")
            assert (page.url, visit.text()) == (url, shown)
        for url, shown in seen[1:]:
            page.go_forward()
            page.wait_for_selector("html[data-ready]")
            assert (page.url, visit.text()) == (url, shown)


DRAWN = """() => {
  window.drawn = [];
  const draw = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
    window.drawn.push(text);
    return draw.call(this, text, ...place);
  };
}"""
COPYING = """() => {
  window.copied = [];
  navigator.clipboard.writeText = async (text) => { window.copied.push(text); };
}"""


def test_a_turned_name_is_in_its_true_order_in_list_tree_map_title_facet_and_copy(
    visiting: Visiting, known: dict[str, str]
) -> None:
    with visiting() as visit:
        page = visit.open(f"/ui/process?t=all&q=hostname:{HOST}%20process_pid:1300")
        visit.settle()
        row = page.locator("tr[data-row]")
        assert SHOWN in row.inner_text()
        assert row.locator(".box").first.inner_text() == "U+202E"
        assert SHOWN in page.locator(".facet").first.inner_text()
        page.evaluate(COPYING)
        row.focus()
        for _ in range(4):
            page.keyboard.press("ArrowRight")
        page.keyboard.press("c")
        assert page.evaluate("window.copied") == [TURNED]
        assert "invisible" in page.inner_text("#undo")
        page = visit.open(f"/ui/process/{known['turned']}")
        visit.settle()
        assert SHOWN in page.title()
        assert SHOWN in page.inner_text("h1")
        assert SHOWN in page.inner_text("#tree")
        page.evaluate(COPYING)
        page.click("#copy-tree")
        assert SHOWN in page.evaluate("window.copied")[0]
        page.evaluate(DRAWN)
        page.click("#tree-view")
        until(page, "(name) => window.drawn.includes(name)", SHOWN)
        assert not any("\u202e" in one for one in page.evaluate("window.drawn"))


SPOKEN = {
    "tree": ("/ui/process/{process}", "#tree"),
    "facet": ("/ui/process?t=all&q=hostname:whole.example", ".facet >> nth=0"),
    "histogram": ("/ui/process?t=all&q=hostname:whole.example", "figure"),
    "severity": ("/ui/alerts?q=process_name:whoami.exe", "tr[data-view] .severity"),
    "isolation": ("/ui/sensors/1", "ol:has([aria-current=step])"),
}


@pytest.mark.parametrize("name", SPOKEN)
def test_what_screen_readers_are_told_is_the_committed_text(
    visiting: Visiting, known: dict[str, str], name: str
) -> None:
    path, place = SPOKEN[name]
    with visiting() as visit:
        page = visit.open(path.format(**known))
        visit.settle()
        text = page.locator(place).aria_snapshot()
        text = re.sub(r"(\d{4}-\d\d-\d\d )?\d\d:\d\d(:\d\d(\.\d{3})?)?Z", "TIME", text)
        assert text == (SAID / f"{name}.txt").read_text().rstrip("\n"), text


RECEIVED = """() => {
  window.heard = [];
  const regions = "[role=status], [role=alert], [aria-live]";
  const hear = (one) => one?.textContent.trim() && window.heard.push(one.textContent.trim());
  new MutationObserver((changes) => {
    const told = new Set();
    for (const { target, addedNodes } of changes) {
      told.add((target.closest ? target : target.parentElement)?.closest(regions));
      for (const one of addedNodes)
        one.querySelectorAll?.(regions).forEach((part) => told.add(part));
    }
    told.forEach(hear);
  }).observe(document.body, { childList: true, subtree: true, characterData: true });
}"""


def test_the_result_of_a_search_is_said_once(visiting: Visiting, known: dict[str, str]) -> None:
    with visiting() as visit:
        page = visit.open("/ui/process?t=all")
        visit.settle()
        page.evaluate(RECEIVED)
        page.fill("textarea[name=q]", f"hostname:{HOST}")
        page.keyboard.press("Enter")
        page.wait_for_url("**hostname**")
        visit.settle()
        received = [one for one in page.evaluate("window.heard") if "processes" in one]
        assert len(received) == 1, received

"""Measures the console in Debian's Chromium: pages of a demo server, and frames of its trees, maps
and timelines with more data than a demo has.

A frame is the time between two calls of `requestAnimationFrame` during an animation. Each run
measures 120 frames after a warm-up, three times; the figure is the median of the three p95 values.
Without a graphics card the figures are worse than those of users.
"""

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from bench import fleet
from bench.figure import Figure, Outcome, Part
from tests.support.browser import CHROMIUM, PLAYWRIGHT_FLAGS
from tests.support.page_budget import PAGE_GZIP_BYTES_MAX, SCRIPTS_GZIP_BYTES_MAX
from vedette.bootstrap.local_access import LocalAccess
from vedette.cli.server_process import ServerProcess
from vedette.simulate.bulk_client import BulkConnection, Target
from vedette.simulate.day import iter_batches
from vedette.simulate.fleet import build_fleet
from vedette.web.page.static_files import static_files

EVENTS = int(os.environ.get("VEDETTE_BENCH_CONSOLE_EVENTS", "100000"))
_HOSTS = 60
_DAY_US = 24 * 3600 * 1_000_000
_RUNS = 5
_SENSOR_LISTS = (
    "",
    "sort=hostname",
    "sort=status",
    "sort=sensor_health_status&start=50000",
    "sort=hostname&start=99900",
    "q=host-77",
    "silent=1",
)
_ALERT_LISTS = ("", "q=", "by=host", "by=user&q=", "q=hostname:ws-7", "q=title:rule&t=-7d")
_TREE_NODES = 50_000
_TIMELINE_EVENTS = 100_000
_QUERY = 'process_name:powershell.exe -parent_name:explorer.exe username:"CORP\\ann" cmdline:enc'

_FRAMES = """
window.frames95 = async (move) => {
  const frame = () => new Promise(requestAnimationFrame);
  const runs = [];
  for (let run = 0; run < 3; run += 1) {
    const deltas = [];
    let before = await frame();
    for (let step = 0; step < 150; step += 1) {
      move(step);
      const now = await frame();
      if (step >= 30) deltas.push(now - before);
      before = now;
    }
    deltas.sort((a, b) => a - b);
    runs.push(deltas[Math.floor(deltas.length * 0.95)]);
  }
  return runs.sort((a, b) => a - b)[1];
};
window.own = (name) => import(new URL(name, document.querySelector("script[type=module]").src));
window.place = (height) => {
  const made = document.createElement("div");
  made.style.height = `${height}px`;
  document.querySelector("main").replaceChildren(made);
  return made;
};
window.nodesOf = (count) => Array.from({ length: count }, (_, at) => ({
  id: `n${at}`, parent_id: at ? `n${Math.floor((at - 1) / 8)}` : "", process_pid: at, username: "",
  start: new Date(1.7e12 + at * 100).toISOString(), event_counts: { filemod: at % 7 },
  label: { process_name: `program-${at}.exe`, path: `C:\\\\p\\\\${at}.exe`, cmdline: `run ${at}` },
}));
"""

_TREE = """async (count) => {
  const { ProcessTree } = await own("tree.js");
  const area = place(600);
  const began = performance.now();
  const tree = new ProcessTree(area, { onSelect() {}, onOpen() {}, load: async () => [] });
  const nodes = nodesOf(count);
  tree.add(nodes);
  for (const node of nodes) tree.open.add(node.id);
  tree.show({ root: "n0", selected: "n0" });
  await new Promise(requestAnimationFrame);
  const first = performance.now() - began;
  const scroll = await frames95((step) => { area.scrollTop = (step * 977) % (count * 24); });
  return { first, scroll, rows: area.querySelectorAll("[role=row]").length };
}"""

_MAP = """async (count) => {
  const { ProcessMap } = await own("map.js");
  const area = place(600);
  const map = new ProcessMap(area, { onSelect() {} });
  const nodes = new Map(nodesOf(count).map((node) => [node.id, node]));
  map.resize();
  const began = performance.now();
  map.set({ nodes, selected: "n0", hidden: new Set() });
  const layout = performance.now() - began;
  const pan = await frames95((step) => {
    map.offset[1] -= 37;
    map.zoom(step % 2 ? 1.02 : 1 / 1.02);
  });
  return { layout, pan };
}"""

_TIMELINE = """async (count) => {
  const { Timeline } = await own("timeline.js");
  const area = place(200);
  const times = Array.from({ length: count }, (_, at) => 1.7e12 + at * 731);
  const lanes = times.map((_, at) => (at * 7919) % 6);
  const shown = { onSelect() {}, onRange() {}, describe: (at) => String(at) };
  const timeline = new Timeline(area, shown);
  timeline.resize();
  const began = performance.now();
  timeline.set(times, lanes);
  timeline.draw();
  const prepare = performance.now() - began;
  const draw = timeline.draw;
  const scripts = [];
  timeline.draw = () => {
    const from = performance.now();
    draw.call(timeline);
    scripts.push(performance.now() - from);
  };
  const move = await frames95((step) => {
    timeline.pan(step % 2 ? 0.03 : -0.02);
    timeline.zoom(step % 20 < 10 ? 0.95 : 1 / 0.95);
  });
  scripts.sort((a, b) => a - b);
  return { prepare, move, script: scripts[Math.floor(scripts.length * 0.95)] };
}"""

_TASKS = """() => {
  window.longest = 0;
  new PerformanceObserver((list) => {
    for (const one of list.getEntries()) window.longest = Math.max(window.longest, one.duration);
  }).observe({ type: "longtask" });
}"""
"""Tasks of the page's thread that take 50 ms or more; others do not count as such."""

_PAINT = """() => {
  const [page] = performance.getEntriesByType("navigation");
  const whole = page.domContentLoadedEventEnd;
  const elements = document.querySelectorAll("*").length;
  return { whole, after: whole - page.responseEnd, bytes: page.encodedBodySize, elements };
}"""


def run(room: Path) -> Outcome:
    if CHROMIUM is None:
        raise RuntimeError("no browser: install Debian's chromium or chromium-headless-shell")
    data = room / "server"
    subprocess.run([sys.executable, "-m", "bench.alerts", str(data / "telemetry")], check=True)
    fleet.fill(data)
    server = ServerProcess(data, 0)
    try:
        access = server.wait_until_ready(300)
        _fill(access)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=PLAYWRIGHT_FLAGS)
            context = browser.new_context(
                viewport={"width": 1440, "height": 900},
                extra_http_headers={"X-Auth-Token": access.token},
            )
            context.add_init_script(_FRAMES)
            page = context.new_page()
            page.set_default_timeout(120_000)
            figures = measured(page, access.url)
            browser.close()
    finally:
        server.stop()
    return Outcome(
        f"a server with about {EVENTS:,} events of {_HOSTS} hosts; a tree of {_TREE_NODES:,} nodes,"
        f" a timeline of {_TIMELINE_EVENTS:,} events",
        figures,
        ("headless Chromium without a graphics card",),
    )


def measured(page: Page, url: str) -> tuple[Figure, ...]:
    """All figures, of a page that is signed in."""
    home = _pages(page, f"{url}/ui/")
    sensors = _lists(page, [f"{url}/ui/sensors?{one}" for one in _SENSOR_LISTS])
    alerts = _lists(page, [f"{url}/ui/alerts?{one}" for one in _ALERT_LISTS])
    search = _pages(page, f"{url}/ui/process?t=all")
    typing = _typing(page)
    some = url + str(page.get_attribute("a[data-open]", "href"))
    tree = _of(page, some, _TREE, _TREE_NODES)
    smaller = _of(page, some, _TREE, 5_000)
    chart = _of(page, some, _MAP, 5_000)
    timeline = _of(page, some, _TIMELINE, _TIMELINE_EVENTS)
    slow = page.context.new_cdp_session(page)
    slow.send("Emulation.setCPUThrottlingRate", {"rate": 4})
    slow_tree = _of(page, some, _TREE, _TREE_NODES)
    slow_timeline = _of(page, some, _TIMELINE, _TIMELINE_EVENTS)
    return (
        Figure(
            "all scripts, gzip",
            _script_bytes() / 1_000,
            "kB",
            at_most=SCRIPTS_GZIP_BYTES_MAX / 1_000,
        ),
        Figure("home page, whole", home["whole"], "ms", at_most=400),
        Figure("search page, interactive after its answer", search["after"], "ms", at_most=600),
        Figure(
            "search page, gzip", search["bytes"] / 1_000, "kB", at_most=PAGE_GZIP_BYTES_MAX / 1_000
        ),
        Figure("search page, elements", search["elements"], "", at_most=2_500),
        Figure("typing a query, longest task", typing, "ms", at_most=50),
        Figure("tree of 5,000, first rows", smaller["first"], "ms", at_most=300),
        Figure("tree of 50,000, first rows", tree["first"], "ms"),
        Figure("tree of 50,000, rows that are elements", tree["rows"], "", at_most=150),
        Figure("tree of 50,000, p95 of a frame", tree["scroll"], "ms", at_most=33.4),
        Figure("map of 5,000, layout", chart["layout"], "ms"),
        Figure("map of 5,000, p95 of a frame", chart["pan"], "ms", at_most=33.4),
        Figure("timeline of 100,000, prepared", timeline["prepare"], "ms", at_most=300),
        Figure("timeline of 100,000, p95 of a frame", timeline["move"], "ms", at_most=33.4),
        Figure("timeline of 100,000, p95 of its script", timeline["script"], "ms", at_most=12),
        Figure(
            "the same tree, a processor four times slower", slow_tree["scroll"], "ms", at_most=50
        ),
        Figure(
            "the same timeline, a processor four times slower",
            slow_timeline["move"],
            "ms",
            at_most=67,
        ),
        Figure("100,000 sensors, any sort, any page, p95", sensors, "ms", at_most=500),
        Figure("a million alerts, any grouping, p95", alerts, "ms", at_most=500),
    )


def _fill(access: LocalAccess) -> None:
    """A day of a company that ends now."""
    now_us = time.time_ns() // 1_000
    certificate = Path(access.certificate) if access.certificate else None
    connection = BulkConnection(Target(access.url, access.ingest_token, certificate))
    company = build_fleet(1, _HOSTS)
    for batch in iter_batches(company, now_us - _DAY_US, events=EVENTS):
        connection.deliver(batch.body, batch.encoding)
    connection.close()


def _pages(page: Page, address: str) -> dict[str, float]:
    """The median of some visits, after one that fills the browser's cache."""
    found: list[dict[str, float]] = []
    for _ in range(_RUNS + 1):
        page.goto(address)
        page.wait_for_selector("html[data-ready]")
        found.append(page.evaluate(_PAINT))
        page.wait_for_load_state("networkidle")
    return {name: statistics.median(one[name] for one in found[1:]) for name in found[0]}


def _typing(page: Page) -> float:
    """The longest task of the search page while a query is typed into it, as fast as people do."""
    page.evaluate(_TASKS)
    page.fill("textarea[name=q]", "")
    page.locator("textarea[name=q]").press_sequentially(_QUERY, delay=60)
    page.wait_for_timeout(1_500)
    return float(page.evaluate("window.longest"))


def _lists(page: Page, addresses: list[str]) -> float:
    """The p95 from the click to the whole list, each address three times after once."""
    found: list[float] = []
    for address in addresses:
        for visit in range(4):
            page.goto(address)
            page.wait_for_selector("html[data-ready]")
            found += [page.evaluate(_PAINT)["whole"]] if visit else []
            page.wait_for_load_state("networkidle")
    return sorted(found)[int(len(found) * 0.95)]


def _of(page: Page, analysis: str, script: str, count: int) -> dict[str, Any]:
    """Runs a measuring script on a process page, which has loaded the modules; its policy forbids
    other pages to load them."""
    page.goto(analysis)
    page.wait_for_selector("[data-loaded]")
    return dict(page.evaluate(script, count))


def _script_bytes() -> int:
    """Returns the compressed size of all scripts."""
    scripts = (file for name, file in static_files().items() if name.endswith(".js"))
    return sum(len(file.compressed or file.content) for file in scripts)


PART = Part("console", run)

"""200 strings that would be markup, script, addresses or commands, wherever senders and users can
write: on every screen they are text, and nothing of them becomes an element or a request."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.browser.conftest import Visiting
from tests.support.sensor import enrol, secret_of
from tests.support.served import Server, start_server, wait_for
from tests.support.sysmon import Host
from vedette.console.untrusted import mixes_scripts, parts

STRINGS: list[str] = json.loads(
    (Path(__file__).parents[1] / "corpus" / "hostile_strings.json").read_text()
)
MARK = "<img src=x onerror=alert(1)>'\"><svg onload=alert(2)>{{7*7}}\u202egnp"
PRINTABLE = MARK.replace("\u202e", "")
"""For names that may have no other characters."""
HOST = "hostile.example"
RULE = """title: {title}
id: 0b1c9f3a-5d1e-4a53-9d3d-1d2f5a6b7c8d
description: {title}
level: high
logsource: {{product: windows, category: process_creation}}
detection:
  it: {{CommandLine|contains: never-there}}
  condition: it
"""
INTRUDERS = """() => [...document.querySelectorAll(
  "img:not([src^='/api/v1/binary/']), iframe, object, embed, video, audio, math, base, " +
  "marquee, xmp, script:not([nonce]), " +
  "[onerror], [onload], [onclick], [onfocus], [onmouseover], [ontoggle], " +
  "[hx-get]:not([hx-nonce]), a[href^='javascript' i], a[href^='data' i], a[href^='//']")]
  .map((one) => one.outerHTML.slice(0, 200))"""
SCREENS = {
    "/ui/": "",
    "/ui/alerts?q=": "",
    "/ui/process?t=all": HOST,
    "/ui/process/{process}": "photo_U+202Egnp",
    "/ui/process/{process}?view=map": "photo_U+202Egnp",
    "/ui/binary": "photo_U+202Egnp",
    "/ui/binary/{md5}": "photo_U+202Egnp",
    "/ui/sensors": "onerror=alert(1)",
    "/ui/sensors/{sensor}": "onerror=alert(1)",
    "/ui/sensors/{host}": HOST,
    "/ui/bans": "onerror=alert(1)",
    "/ui/watchlists": "onerror=alert(1)",
    "/ui/watchlists/{watchlist}": "onerror=alert(1)",
    "/ui/sigma": "onerror=alert(1)",
    "/ui/sigma/{rule}": "onerror=alert(1)",
    "/ui/feeds": "onerror=alert(1)",
    "/ui/feeds/{feed}": "onerror=alert(1)",
    "/ui/filters": "onerror=alert(1)",
    "/ui/jobs": "",
    "/ui/access": "onerror=alert(1)",
    "/ui/access?tab=teams": "onerror=alert(1)",
    "/ui/access?tab=tokens": "onerror=alert(1)",
    "/ui/audit": "onerror=alert(1)",
    "/ui/me": "",
    "/ui/data": "",
    "/ui/data?tab=checks": "",
    "/ui/settings": "",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    running = start_server(tmp_path_factory.mktemp("hostile"))
    found = next(running)
    yield found
    running.close()


def must(answer: httpx.Response) -> Any:
    assert answer.is_success, answer.text
    return answer.json() if answer.content else None


@pytest.fixture(scope="module")
def known(server: Server) -> dict[str, str]:
    """What everything hostile is called by."""
    send_telemetry(server)
    with server.client() as client:
        sensor = enrol(client, "sensor.example", secret_of(server))
        sensor.check_in(health_status=1, health_message=MARK)
    with server.analyst() as client:
        query = {"q": f"process_pid:900 hostname:{HOST}", "rows": 1}
        (row,) = must(client.get("/api/v1/process", params=query))["results"]
        made = write_names(server, client, sensor.id, row["process_md5"])
        (host,) = must(client.get("/api/v1/sensor", params={"hostname": HOST}))
    names = {"process": row["id"], "md5": row["process_md5"], "sensor": sensor.id}
    return {name: str(value) for name, value in (names | made | {"host": host["id"]}).items()}


def send_telemetry(server: Server) -> None:
    host = Host(HOST)
    image = "C:\\Users\\photo_\u202egnp.exe"
    parent, shell = host.process(900, image, image), host.process(880, "C:\\Windows\\explorer.exe")
    children = [
        host.process(1_000 + at, f"C:\\t{at}.exe", text, 10) for at, text in enumerate(STRINGS)
    ]
    records = [host.created(parent, shell), *(host.created(one, parent) for one in children)]
    for at, text in enumerate(STRINGS):
        data = {"TargetFilename": f"C:\\x\\{text}", "CreationUtcTime": ""}
        records.append(host.of(parent, 11, 30 + at, **data))
        records.append(
            host.of(parent, 13, 30 + at, EventType="SetValue", TargetObject=f"HKLM\\{text}")
        )
        records.append(host.of(parent, 22, 30 + at, QueryName=text, QueryResults="203.0.113.9;"))
        child = host.process(3_000 + at, f"C:\\d{at}\\{text}", "x", 10)
        named = host.created(child, parent)
        named["winlog"]["event_data"]["User"] = text
        records.append(named)
    body = "".join(f'{{"create":{{}}}}\n{json.dumps(one)}\n' for one in records)
    with server.sender() as sender:
        kind = {"Content-Type": "application/x-ndjson"}
        assert not must(sender.post("/_bulk", content=body, headers=kind))["errors"]


def write_names(server: Server, client: httpx.Client, sensor: int, md5: str) -> dict[str, Any]:
    must(client.put(f"/api/v1/sensor/{sensor}", json={"notes": MARK}))
    must(client.post("/api/v1/banning/bannedlist", json={"md5hash": "ab" * 16, "text": MARK}))
    watch = {
        "name": MARK,
        "search_query": f'q=cmdline:"{MARK.replace(chr(34), "")}"',
        "description": MARK,
    }
    watchlist = must(client.post("/api/v1/watchlist", json=watch))["id"]
    must(client.post("/api/v1/sigma", json={"text": RULE.format(title=json.dumps(MARK))}))
    folder = Path(server.data) / "feeds"
    folder.mkdir(exist_ok=True)
    document = folder / "hostile.json"
    document.write_text(json.dumps(feed_document()))
    made = client.post("/api/v1/feed", json={"feed_url": document.as_uri(), "enabled": True})
    feed = must(made)["id"]
    must(client.post(f"/api/v1/feed/{feed}/synchronize", json={"full_sync": True}))
    wait_for(lambda: len(client.get(f"/api/v1/feed/{feed}/report").json()) > 0, True, 60)
    drop = {
        "name": MARK,
        "path_filters": ["c:\\\\never\\\\there.exe"],
        "enabled": False,
        "global": True,
    }
    must(client.post("/api/v1/ingress_approvedlist", json=[drop]))
    must(
        client.post("/api/v1/saved_search", json={"name": MARK, "view": "process", "params": "q=x"})
    )
    must(client.post("/api/v1/token", json={"name": PRINTABLE, "scope": "read"}))
    user = {
        "username": "bob",
        "first_name": PRINTABLE,
        "last_name": PRINTABLE,
        "email": "b@example.com",
        "password": "a long enough passphrase 1",
    }
    must(client.post("/api/user", json=user))
    must(client.post("/api/team", json={"name": PRINTABLE[:60], "group_access": []}))
    return {"watchlist": watchlist, "feed": feed, "rule": "0b1c9f3a-5d1e-4a53-9d3d-1d2f5a6b7c8d"}


def feed_document() -> dict[str, Any]:
    names = {"name": "hostile", "display_name": MARK, "summary": MARK, "tech_data": MARK}
    report = {"id": "r1", "title": MARK, "link": "javascript:alert(1)", "score": 9, "timestamp": 1}
    return {
        "feedinfo": names | {"provider_url": "https://example.com/"},
        "reports": [report | {"iocs": {"dns": ["evil.example"]}}],
    }


def test_every_screen_shows_hostile_names_as_text(
    visiting: Visiting, known: dict[str, str]
) -> None:
    with visiting() as visit:
        for path, shown in SCREENS.items():
            page = visit.open(path.format(**known))
            page.wait_for_load_state("networkidle")
            assert page.evaluate(INTRUDERS) == [], path
            assert shown in page.title() + page.inner_text("body"), path
            page.emulate_media(media="print")
            assert page.evaluate(INTRUDERS) == [], path
            page.emulate_media(media="screen")


def shown(text: str) -> str:
    """As the rule for foreign text has it: odd characters named, look-alikes marked."""
    named = "".join(piece for _, piece in parts(text))
    return f"{named}mixed" if mixes_scripts(text) else named


def test_200_strings_are_shown_by_one_rule_in_list_flyout_tree_and_events(
    visiting: Visiting, known: dict[str, str]
) -> None:
    wanted = {shown(one) for one in STRINGS}
    assert len(wanted) >= 200
    with visiting() as visit:
        page = visit.open("/ui/process?t=all&n=200&q=process_pid:[1000 TO 2000]&sort=start asc")
        page.wait_for_load_state("networkidle")
        cells = set(page.locator("td.cmdline").all_text_contents())
        page.goto(page.url + "&p=2")
        page.wait_for_selector("html[data-ready]")
        cells |= set(page.locator("td.cmdline").all_text_contents())
        assert {one for one in wanted if len(one) < 100} <= {one.strip() for one in cells} | cells
        for row in page.locator("tr[data-row]").all()[:3]:
            row.locator("td.time").click()
            page.wait_for_selector("#flyout .facts")
        assert page.evaluate(INTRUDERS) == []
        page = visit.open(f"/ui/process/{known['process']}")
        page.wait_for_selector("[data-loaded]")
        for pane in ("#events", "#tree"):
            page.focus(pane)
            for _ in range(12):
                page.keyboard.press("PageDown")
            assert page.evaluate(INTRUDERS) == []
        assert page.locator(".windowed-row").count() <= 300
        page.click("#copy-tree")
        page.wait_for_selector("#undo > div")


def test_a_hostile_value_is_found_as_text_by_the_omnibox_and_the_completions(
    visiting: Visiting, known: dict[str, str]
) -> None:
    with visiting() as visit:
        visit.expected.append("400")
        page = visit.open("/ui/process?t=all")
        for text in ("<img src=x onerror=alert(1)>", "' onmouseover=alert(1) x='", MARK):
            page.keyboard.press("Control+k")
            page.keyboard.insert_text(text)
            page.wait_for_selector("#omnibox .looked > *")
            assert page.evaluate(INTRUDERS) == []
            page.keyboard.press("Escape")
        page.click("textarea[name=q]")
        page.keyboard.type("username:<")
        page.wait_for_timeout(1_200)
        assert page.evaluate(INTRUDERS) == []
        page.fill("textarea[name=q]", MARK)
        page.keyboard.press("Enter")
        page.wait_for_load_state("networkidle")
        assert page.evaluate(INTRUDERS) == []

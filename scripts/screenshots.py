"""Pictures of every screen of the console, in light, dark, on a phone and in German, to look at:
`python -m scripts.screenshots DIRECTORY`, with a demo server that runs. With `--docs` only those of
the guides, into docs/pictures: 1920x1080 at scale 2, in light and dark, reduced to 256 colors."""

import argparse
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from PIL import Image
from playwright.sync_api import Browser, Page, TimeoutError, sync_playwright

from tests.support.browser import CHROMIUM, PLAYWRIGHT_FLAGS
from vedette.bootstrap.local_access import LocalAccess, read_access

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
PICTURE_BYTES_MAX = 600_000
COLORS = 256
_ATTACK = "process_name:powershell.exe parent_name:winword.exe"


@dataclass(frozen=True)
class Screen:
    """A picture: where, what is pressed there, and what is there when it is taken."""

    path: str
    keys: tuple[str, ...] = ()
    until: str = "html[data-ready]"


SCREENS = {
    "sign-in": Screen("/ui/sign-in", until="button.primary:enabled"),
    "sign-in-link": Screen("/ui/sign-in#link=x", until="[data-by-link]:not([hidden])"),
    "home": Screen("/ui/"),
    "process-search": Screen("/ui/process?t=all", until=".over-time"),
    "process-search-query": Screen("/ui/process?t=all&q=process_name:powershell.exe"),
    "process-beside": Screen(
        f"/ui/process?t=all&q={_ATTACK}", ("focus tr[data-row]", "Enter"), "#flyout-title"
    ),
    "nothing-matches": Screen("/ui/process?t=all&q=process_name:no-such-program"),
    "process-columns": Screen("/ui/process?t=all", ("K",), "#columns[open]"),
    "process-analysis": Screen("/ui/process/{process}", until="[data-loaded]"),
    "process-map": Screen("/ui/process/{process}?view=map", until="[data-loaded]"),
    "alerts": Screen("/ui/alerts", until="#flyout .lineage"),
    "alerts-nested": Screen("/ui/alerts?by=host&then=rule", until="tr.inner"),
    "alerts-folded": Screen("/ui/alerts?by=host", ("F",), "[data-fold-all][aria-pressed=true]"),
    "alerts-triage": Screen("/ui/alerts", ("r",), "#triage [data-submit]:enabled"),
    "alerts-isolate": Screen("/ui/alerts?q=hostname:{host}", ("i",)),
    "alerts-ban": Screen("/ui/alerts?q=process_name:powershell.exe", ("b",), "#ban[open] table"),
    "sensors": Screen("/ui/sensors"),
    "sensor": Screen("/ui/sensors/{sensor}"),
    "sensors-note": Screen("/ui/sensors", ("N",), "#fleet[open] [data-submit]:enabled"),
    "jobs": Screen("/ui/jobs"),
    "groups": Screen("/ui/groups"),
    "group": Screen("/ui/groups/1"),
    "reports": Screen("/ui/reports"),
    "logs": Screen("/ui/log?t=all"),
    "binaries": Screen("/ui/binary"),
    "binary": Screen("/ui/binary/{md5}"),
    "bans": Screen("/ui/bans"),
    "ban": Screen("/ui/bans/{md5}"),
    "watchlists": Screen("/ui/watchlists"),
    "watchlist-new": Screen(f"/ui/watchlists/new?q={_ATTACK}", until="[data-result] table"),
    "sigma": Screen("/ui/sigma"),
    "sigma-rule": Screen("/ui/sigma/{rule}"),
    "sigma-versions": Screen("/ui/sigma/{rule}/versions"),
    "coverage": Screen("/ui/sigma/coverage"),
    "feeds": Screen("/ui/feeds"),
    "filters": Screen("/ui/filters"),
    "filter": Screen("/ui/filters/{filter}", until="[data-check] dl"),
    "data": Screen("/ui/data"),
    "data-checks": Screen("/ui/data?tab=checks"),
    "data-intake": Screen("/ui/data?tab=intake"),
    "data-detection": Screen("/ui/data?tab=detection"),
    "data-messages": Screen("/ui/data?tab=messages"),
    "access-users": Screen("/ui/access"),
    "access-teams": Screen("/ui/access?tab=teams"),
    "access-tokens": Screen("/ui/access?tab=tokens"),
    "audit": Screen("/ui/audit"),
    "settings": Screen("/ui/settings"),
    "me": Screen("/ui/me"),
    "help": Screen("/ui/alerts", ("?",), "#help[open]"),
    "omnibox": Screen("/ui/", ("Control+k", "powershell.exe"), "#omnibox nav a"),
    "no-such-page": Screen("/ui/nothing-here"),
}
IN_DOCS = ("sign-in-link", "home", "alerts", "process-analysis", "process-search", "watchlist-new")
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light", "viewport": {"width": 1440, "height": 900}},
    "dark": {"color_scheme": "dark", "viewport": {"width": 1440, "height": 900}},
    "phone": {"color_scheme": "light", "viewport": {"width": 390, "height": 844}},
    "german": {"viewport": {"width": 1440, "height": 900}, "locale": "de-DE"},
    "small": {"viewport": {"width": 320, "height": 640}, "locale": "de-DE"},
}
_SHARP: dict[str, Any] = {
    "viewport": {"width": 1920, "height": 1080},
    "device_scale_factor": 2,
}
DOCS_LOOKS: dict[str, dict[str, Any]] = {
    "": _SHARP | {"color_scheme": "light"},
    "dark": _SHARP | {"color_scheme": "dark"},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("screenshots"))
    parser.add_argument("--data", type=Path, default=Path("demo-data"))
    parser.add_argument("--docs", action="store_true")
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    access = read_access(given.data)
    if access is None:
        sys.exit(f"no server runs on {given.data}: start `vedette demo` first")
    folder = PICTURES if given.docs else given.folder
    names = IN_DOCS if given.docs else tuple(n for n in SCREENS if re.search(given.only, n))
    looks = DOCS_LOOKS if given.docs else LOOKS
    folder.mkdir(parents=True, exist_ok=True)
    known = _known(access)
    if CHROMIUM is None:
        sys.exit("no browser: install Debian's chromium or chromium-headless-shell")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=PLAYWRIGHT_FLAGS)
        for look, options in looks.items():
            for name in names:
                path = folder / f"{name}{look and '-' + look}.png"
                _take(browser, access, SCREENS[name], known, options, path)
                if given.docs:
                    _reduce(path)
        browser.close()
    large = [one.name for one in folder.iterdir() if one.stat().st_size > PICTURE_BYTES_MAX]
    if given.docs and large:
        sys.exit(f"above {PICTURE_BYTES_MAX} bytes: {', '.join(large)}")


def _take(
    browser: Browser,
    access: LocalAccess,
    screen: Screen,
    known: dict[str, str],
    options: dict[str, Any],
    path: Path,
) -> None:
    """One picture, of a page that is read with the token of this machine's programs."""
    headers = {"X-Auth-Token": access.token}
    context = browser.new_context(extra_http_headers=headers, **options)
    page = context.new_page()
    page.set_default_timeout(120_000)
    page.goto(access.url + re.sub(r"\{(\w+)\}", lambda found: known[found[1]], screen.path))
    is_narrow = page.viewport_size is not None and page.viewport_size["width"] < 1_280
    if is_narrow and screen.path == "/ui/alerts":  # nothing opens by itself there
        screen = Screen(screen.path, screen.keys, screen.until.replace("#flyout .lineage", "tr"))
    try:
        _wait(page, "html[data-ready], .sign-in [data-origin]:not(:empty)")
        for key in screen.keys:
            page.wait_for_timeout(600)  # what opened takes the keys
            if key.startswith("focus "):
                page.focus(key.removeprefix("focus "))
            elif len(key) > 1 and key.islower():
                page.keyboard.type(key)
            else:
                page.keyboard.press(key)
        _wait(page, screen.until)
    except TimeoutError as problem:
        print(f"{path.name}: {str(problem).splitlines()[0]}", file=sys.stderr)
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(400)  # canvases are drawn a frame later
    page.screenshot(path=path)
    context.close()


def _reduce(path: Path) -> None:
    """Rewrites a picture with a palette, a third of its size. Text looks the same."""
    with Image.open(path) as picture:
        reduced = picture.convert("RGB").quantize(COLORS, dither=Image.Dither.NONE)
    reduced.save(path, optimize=True)


def _wait(page: Page, selector: str) -> None:
    page.wait_for_selector(selector, timeout=20_000, state="attached")


def _known(access: LocalAccess) -> dict[str, str]:
    """A process of one of the attacks, its program and its host; a rule."""
    with httpx.Client(
        base_url=access.url,
        verify=access.certificate or True,
        headers={"X-Auth-Token": access.token},
        timeout=60,
    ) as client:
        found = client.get("/api/v1/process", params={"q": _ATTACK, "rows": 1}).json()["results"]
        if not found:
            sys.exit("there is no attack on this server: is it a demo, and is it ready?")
        rules = client.get("/api/v1/sigma", params={"rows": 1}).json()
        row = found[0]
        _add_what_has_a_page(client, row["process_md5"])
        return {
            "filter": "screenshots",
            "process": str(row["id"]),
            "md5": str(row["process_md5"]),
            "sensor": str(row["sensor_id"]),
            "host": str(row["hostname"]),
            "rule": str((rules["results"] if isinstance(rules, dict) else rules)[0]["id"]),
        }


def _add_what_has_a_page(client: httpx.Client, md5: str) -> None:
    """A ban and a filter that are not in force; where they are already, they stay."""
    ban = {"md5hash": md5, "text": "Not in force: of the screenshots", "enabled": False}
    if client.get(f"/api/v1/banning/bannedlist/{md5}").status_code == 404:
        client.post("/api/v1/banning/bannedlist", json=ban).raise_for_status()
    body = {"id": "screenshots", "name": "Compilers", "enabled": False, "path_filters": ["*/cc1"]}
    if client.get("/api/v1/ingress_approvedlist/screenshots").status_code == 404:
        client.post("/api/v1/ingress_approvedlist", json=body).raise_for_status()


if __name__ == "__main__":
    main()

"""Pictures of every screen of the console, in light, dark and on a phone, to be looked at:
`python -m scripts.screenshots DIRECTORY`, with a demo server that runs."""

import re
import sys
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import Browser, sync_playwright

from vedette.bootstrap.local_access import LocalAccess, read_access

SCREENS = {
    "sign-in": "/ui/sign-in",
    "home": "/ui/",
    "process-search": "/ui/process?t=all",
    "process-search-query": "/ui/process?t=all&q=process_name:powershell.exe",
    "nothing-matches": "/ui/process?t=all&q=process_name:no-such-program",
    "process-analysis": "/ui/process/{process}",
    "process-map": "/ui/process/{process}?view=map",
}
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light", "viewport": {"width": 1440, "height": 900}},
    "dark": {"color_scheme": "dark", "viewport": {"width": 1440, "height": 900}},
    "phone": {"color_scheme": "light", "viewport": {"width": 390, "height": 844}},
}


def main(data: Path, folder: Path) -> None:
    access = read_access(data)
    if access is None:
        sys.exit(f"no server runs on {data}: start `vedette demo` first")
    folder.mkdir(parents=True, exist_ok=True)
    process = _process(access)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox"]
        )
        for look, options in LOOKS.items():
            _take(browser, access, folder, look, options, process)
        browser.close()


def _take(
    browser: Browser,
    access: LocalAccess,
    folder: Path,
    look: str,
    options: dict[str, Any],
    process: str,
) -> None:
    """Every screen in one look. Pages are read with the token of this machine's programs."""
    headers = {"X-Auth-Token": access.token}
    context = browser.new_context(ignore_https_errors=True, extra_http_headers=headers, **options)
    page = context.new_page()
    for name, path in SCREENS.items():
        page.goto(access.url + path.format(process=process))
        page.wait_for_load_state("networkidle")
        page.wait_for_timeout(800)
        page.screenshot(path=folder / f"{name}-{look}.png")
    context.close()


def _process(access: LocalAccess) -> str:
    """A process of one of the attacks."""
    with httpx.Client(base_url=access.url, verify=access.certificate or True) as client:
        found = client.get(
            "/api/v1/process",
            params={"q": "process_name:powershell.exe parent_name:winword.exe", "rows": 1},
            headers={"X-Auth-Token": access.token},
        ).json()["results"]
    identity = str(found[0]["id"]) if found else ""
    return identity if re.fullmatch(r"[0-9a-f-]{36}", identity) else ""


if __name__ == "__main__":
    main(Path(sys.argv[2] if len(sys.argv) > 2 else "demo-data"), Path(sys.argv[1]))

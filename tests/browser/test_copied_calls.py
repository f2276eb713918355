"""What is copied from a screen as a call, in a shell and with the public client: it asks for what
the screen shows, and nothing of what stands on the screen is run."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import Visiting
from tests.browser.test_hostile_strings import SCREENS, known, server
from tests.support.served import Server

__all__ = ["known", "server"]

COPIED = """async () => {
  const copy = await import(new URL("copy.js",
    document.querySelector("script[type=module]").src));
  const call = copy.pageCall();
  return call && [copy.asCurl(call), copy.asPython(call)];
}"""
ROWS = "(all) => all.filter((one) => one.offsetParent).map((one) => one.dataset.row)"
SAID = "\nimport json\nprint(json.dumps(found))\n"
NOT_ROWS = ("/ui/settings", "/ui/me", "/ui/process/", "/ui/alerts", "/ui/audit")
"""Their rows are parts of an answer, groups of it, or more than one answer."""


def asked(path: str, mark: Path) -> str:
    """A screen, with a query that would run something in a shell that reads it."""
    hostile = f"'; touch {mark}; $(touch {mark}) `touch {mark}` \""
    if path in ("/ui/sigma", "/ui/sensors"):
        return f"{path}?q={hostile}"
    return path


def results_of(body: Any) -> list[Any]:
    if isinstance(body, list):
        return body
    found = body.get("results", body.get("findings", body))
    return found if isinstance(found, list) else [one for one in found.values() if one]


@pytest.mark.filterwarnings("ignore")
def test_each_screen_s_call_asks_for_what_it_shows(
    visiting: Visiting, server: Server, known: dict[str, str], tmp_path: Path
) -> None:
    mark = tmp_path / "ran"
    calls: dict[str, tuple[str, str, list[str]]] = {}
    with visiting() as visit:
        for path in SCREENS:
            page = visit.open(asked(path.format(**known), mark))
            page.wait_for_load_state("networkidle")
            rows = page.locator("tr[data-row]").evaluate_all(ROWS)
            if copied := page.evaluate(COPIED):
                calls[path] = (*copied, rows)
    assert len(calls) > 15
    environ = os.environ | {
        **{"VEDETTE_TOKEN": server.token, "CURL_CA_BUNDLE": str(server.certificate)},
        **{"CBAPI_URL": server.url, "CBAPI_TOKEN": server.token, "CBAPI_SSL_VERIFY": "False"},
    }

    def ran(*words: str) -> Any:
        ended = subprocess.run(
            words, check=False, capture_output=True, text=True, env=environ, timeout=120
        )
        assert ended.returncode == 0, (words, ended.stderr[-2_000:])
        return json.loads(ended.stdout.strip().split("\n")[-1])

    for path, (curl, python, rows) in calls.items():
        found = ran("bash", "-c", curl)
        again = ran(sys.executable, "-W", "ignore", "-c", python + SAID)
        assert len(results_of(again)) == len(results_of(found)), (path, curl)
        if not rows or path.startswith(NOT_ROWS):
            continue
        assert len(rows) == len(results_of(found)), (path, curl)
        text = json.dumps(found, ensure_ascii=False)
        named = [json.dumps(one, ensure_ascii=False) for one in rows if not one.isdigit()]
        assert [one for one in named if one not in text] == [], path
    assert not mark.exists()

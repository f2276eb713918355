"""A change of many alerts while others arrive every 50 milliseconds: what the dialog counted is
what changes, what the audit says and what is taken back."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.browser.conftest import Visiting
from tests.support.noise import RULE, noise
from tests.support.served import Server, serving, wait_for

EARLY = 8
LATER = 5
EVERY_S = 0.05
SENDS = "#triage[open] [data-submit]:enabled"
KEPT = ("status", "assigned_to", "resolved_time", "resolution")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("exact")) as running:
        with running.analyst() as client:
            assert client.post("/api/v1/sigma", json={"text": RULE}).is_success
        with running.sender() as client:
            early = [noise(f"early-{at}") for at in range(EARLY)]
            assert client.post("/api/v1/ingest", json=early).is_success
        assert wait_for(lambda: len(alerts(running)), EARLY, 60.0) == EARLY
        yield running


def alerts(server: Server) -> dict[str, dict[str, Any]]:
    with server.analyst() as client:
        found = client.get("/api/v2/alert", params={"q": "", "rows": 1_000}).json()["results"]
    return {one["unique_id"]: one for one in found}


@contextmanager
def writing(server: Server, name: str) -> Iterator[None]:
    """Meanwhile a host after the other makes the same noise."""
    stop = threading.Event()

    def work() -> None:
        with server.sender() as client:
            at = 0
            while not stop.wait(EVERY_S):
                at += 1
                client.post("/api/v1/ingest", json=[noise(f"{name}-{at}")])

    writer = threading.Thread(target=work)
    writer.start()
    try:
        yield
    finally:
        stop.set()
        writer.join()


def audited(server: Server) -> int:
    """Returns the number of alerts that the newest bulk change changed, from the audit."""
    with server.analyst() as client:
        return int(client.get("/api/v1/alerts/audit").json()[0]["changed"])


@pytest.mark.parametrize("way", ["group", "all"])
def test_a_change_is_exact_while_alerts_arrive(
    visiting: Visiting, server: Server, way: str
) -> None:
    with writing(server, way), visiting() as visit:
        page = visit.open("/ui/alerts")
        page.wait_for_selector("#flyout .lineage")
        if way == "group":
            page.check("tr.group input")
        else:
            page.keyboard.press("Control+a")
            page.keyboard.press("Control+a")
        out = page.locator("tr[data-row]:not(.group)").nth(1)
        kept = str(out.get_attribute("data-row"))
        out.locator("input").uncheck()
        page.keyboard.press("f")
        page.wait_for_selector(SENDS)
        before = alerts(server)
        title = page.inner_text("#triage-title")
        counted = int("".join(filter(str.isdigit, title)))
        assert counted >= EARLY - 1
        wait_for(lambda: len(alerts(server)) >= len(before) + LATER, True, 60.0)
        page.keyboard.type("known noise")
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("#undo [data-undo]")
        assert f"{counted} alerts updated" in page.inner_text("#undo").replace("\u2009", "")
        after = alerts(server)
        closed = {name for name, one in after.items() if one["status"] == "False Positive"}
        assert len(closed) == counted
        assert kept not in closed
        assert closed <= set(before)
        assert len(after) > len(before)
        assert audited(server) == counted
        page.keyboard.press("Control+z")
        page.wait_for_selector("text=Change undone")
        undone = alerts(server)
        for name in closed:
            was, now = before[name], undone[name]
            assert {one: now.get(one) for one in KEPT} == {one: was.get(one) for one in KEPT}
    assert [one for one in alerts(server).values() if one["status"] != "Unresolved"] == []

"""Reports of feeds are ignored in the dialog that closes their alerts, and heard again with it."""

from collections.abc import Iterator

import pytest

from tests.api.test_alerts import RULE, hit
from tests.browser.conftest import PASSWORD, Visiting
from tests.browser.test_accessibility import violations
from tests.support.one_of_each import HOST, processes
from tests.support.served import Server, open_group, state_of
from tests.support.sysmon import story
from tests.support.written_detections import alerted_server
from vedette.clock import SystemClock
from vedette.model.findings.detection import Detection, Source
from vedette.model.principal import Role
from vedette.state.accounts import teams, users
from vedette.state.policy import groups
from vedette.state.policy.ignored_reports import ignored_among

REPORT = (7, "r-<b>1")
SENDS = "#triage[open] [data-submit]:enabled"
OFFER = "label:has([name=set_ignored])"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    def detect(server: Server) -> list[Detection]:
        _, secret = open_group(server, "Reach")
        with server.client(Authorization=f"Bearer {secret}") as client:
            assert client.post("/api/v1/ingest", json=story(HOST).records).status_code == 200
        rows = processes(server)
        feed = Source("feed", str(REPORT[0]))
        return [
            *(hit(row, feed, "Reported", report_id=REPORT[1]) for row in rows[:2]),
            hit(rows[2], RULE, "Odd"),
        ]

    with alerted_server(tmp_path_factory.mktemp("reports"), detect) as server:
        yield server


def ignored(server: Server) -> bool:
    with state_of(server) as database, database.reading() as connection:
        return REPORT in ignored_among(connection, [REPORT])


def test_reports_are_ignored_with_their_alerts_and_heard_again(
    visiting: Visiting, server: Server
) -> None:
    with visiting() as visit:
        page = visit.open("/ui/alerts?q=title:Reported%20-status:Resolved")
        page.wait_for_selector("#flyout-title")
        page.keyboard.press("X")
        page.keyboard.press("p")
        page.wait_for_selector(SENDS)
        assert not page.is_visible(OFFER)
        page.keyboard.press("Escape")
        page.keyboard.press("r")
        page.wait_for_selector(SENDS)
        assert "(1 report)" in page.inner_text(OFFER)
        assert not page.is_checked("[name=set_ignored]")
        page.check("[name=set_ignored]")
        assert violations(page) == []
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("#undo [data-undo]")
        said = page.inner_text("#undo")
        assert "2 alerts updated: resolved · 1 report ignored" in said
        assert ignored(server)
        page.keyboard.press("Control+z")
        page.wait_for_selector("text=Change undone: 2 alerts · 1 report no longer ignored")
        assert not ignored(server)


def test_alerts_that_no_report_made_offer_nothing(visiting: Visiting) -> None:
    with visiting() as visit:
        page = visit.open("/ui/alerts?q=title:Odd")
        page.wait_for_selector("#flyout-title")
        page.keyboard.press("r")
        page.wait_for_selector(SENDS)
        assert not page.is_visible(OFFER)


def test_what_was_so_already_is_said(visiting: Visiting) -> None:
    with visiting() as visit:
        page = visit.open("/ui/alerts?q=title:Odd")
        page.wait_for_selector("#flyout-title")
        for _ in range(2):
            page.keyboard.press("q")
            page.wait_for_selector(SENDS)
            page.keyboard.press("Control+Enter")
            page.wait_for_selector("text=0 alerts updated: reopened · 1 unchanged")


def test_an_analyst_reads_who_may_ignore_reports(visiting: Visiting, server: Server) -> None:
    with state_of(server) as database:
        group = next(one.id for one in groups.all_groups(database) if one.name == "Reach")
        team = teams.add(database, "analysts", {group: Role.ANALYST})
        new = users.NewUser("ann", password=PASSWORD, team_ids=(team.id,))
        users.add(database, new, SystemClock().now_us())
    with server.client() as client:
        body = {"username": "ann", "password": PASSWORD}
        assert client.post("/api/v1/session", json=body).status_code == 200
        (name, value), *_ = client.cookies.items()
    cookie = {"name": name, "value": value, "url": server.url, "secure": True}
    with visiting(cookie=cookie) as visit:
        page = visit.open("/ui/alerts?q=title:Reported")
        page.wait_for_selector("#flyout-title")
        page.keyboard.press("r")
        page.wait_for_selector(SENDS)
        assert page.is_disabled("[name=set_ignored]")
        assert "Requires a global administrator" in page.inner_text(OFFER)

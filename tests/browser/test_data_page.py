"""Data and health: what was refused, what targets of messages answer, partitions over time."""

from tests.browser.conftest import SHARED, Visiting
from tests.support.served import Server, state_of
from vedette.state.db.schema_actions import OUTBOX_TARGET

pytestmark = SHARED

MARKUP = '<img src=x onerror="alert(1)">'


def test_the_last_refused_record_is_shown_as_text(visiting: Visiting, server: Server) -> None:
    with server.sender() as sender:
        sender.post("/api/v1/ingest", json=[{"refused": MARKUP}])
    with visiting() as visit:
        page = visit.open("/ui/data?tab=intake")
        row = page.locator("tr[aria-label=unknown_format]")
        assert MARKUP.replace('"', '\\"') in row.locator("[data-field=record]").inner_text()
        assert "127.0.0.1" in row.inner_text()


def test_partitions_stand_on_a_line_of_time_above_their_table(visiting: Visiting) -> None:
    with visiting() as visit:
        page = visit.open("/ui/data")
        bars = page.locator("figure.chart > svg rect").count()
        assert bars == page.locator("table tbody tr").count() > 0
        assert page.inner_text("figure.chart .legend").strip() == "hot"


def test_a_target_is_tried_with_a_key_of_its_row(visiting: Visiting, server: Server) -> None:
    with state_of(server) as database, database.writing() as connection:
        connection.execute(OUTBOX_TARGET.insert().values(name="syslog"))
    with visiting() as visit:
        page = visit.open("/ui/data?tab=messages")
        page.focus("tr[aria-label=syslog]")
        page.keyboard.press("Q")
        page.wait_for_selector("text=Test message sent")
        page = visit.open("/ui/settings")
        page.click("button[aria-label='Send a test message to syslog']")
        page.wait_for_selector("text=Test message sent")
    with server.analyst() as client:
        entries = client.get("/api/v1/audit", params={"kind": "outbox target"}).json()
    assert [one["target"] for one in entries["results"]] == ["syslog", "syslog"]

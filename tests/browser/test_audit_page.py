"""The page of the audit log: what happened how often, and in what time."""

from datetime import UTC, datetime, timedelta

from tests.browser.conftest import SHARED, Visiting
from tests.support.served import Server

pytestmark = SHARED


def test_facets_count_what_the_log_answers_and_narrow_it(
    visiting: Visiting, server: Server
) -> None:
    name = "facet-of-the-log"
    with server.analyst() as client:
        made = client.post("/api/v1/watchlist", json={"name": name, "search_query": "q=a.exe"})
        number = made.json()["id"]
        for other in ("one", "two"):
            client.put(f"/api/v1/watchlist/{number}", json={"name": f"{name} {other}"})
        params = {"kind": "watchlist", "action": "change"}
        total = client.get("/api/v1/audit", params=params).json()["total_results"]
    assert total >= 2
    with visiting() as visit:
        page = visit.open("/ui/audit?kind=watchlist")
        page.click("main .chip[href*='action=change']")
        page.wait_for_url("**action=change**")
        visit.settle()
        assert f"{total} entries" in page.inner_text("main")
        assert "kind=watchlist" in page.url
        assert page.locator("main tbody tr").count() == min(total, 100)


def test_the_log_is_narrowed_to_a_time(visiting: Visiting, server: Server) -> None:
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).date().isoformat()
    with visiting() as visit:
        page = visit.open("/ui/audit")
        page.fill("#from", tomorrow)
        page.keyboard.press("Enter")
        page.wait_for_url(f"**from={tomorrow}**")
        assert "No matching entries" in page.inner_text("main")
        page = visit.open(f"/ui/audit?from=-24h&to={tomorrow}")
        assert page.locator("main tbody tr").count() > 0
        assert "from=-24h" in str(page.get_attribute("a[download]", "href"))
    with server.analyst() as client:
        assert client.get("/ui/audit", params={"from": "no time"}).status_code == 400

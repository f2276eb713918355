"""The page of a Sigma rule has the rule as a query, which finds what the rule hits."""

from tests.browser.conftest import SHARED, Visiting
from tests.browser.test_policy_pages import RULE
from tests.support.served import Server, wait_for
from tests.support.sysmon import story

pytestmark = SHARED
NUMBER = "5f3c2a10-0000-4000-8000-00000000ac01"
HOST = "asked-as-query.example"


def test_a_rule_is_searched_with_as_its_query(visiting: Visiting, server: Server) -> None:
    text = RULE.replace("5f3c2a10-0000-4000-8000-00000000abcd", NUMBER)
    narrow = f"  host:\n    CommandLine|contains: {HOST}\n  condition: shell and host"
    text = text.replace("  condition: shell", narrow)
    with server.analyst() as client, server.sender() as sender:
        assert client.post("/api/v1/sigma", json={"text": text}).is_success
        assert sender.post("/api/v1/ingest", json=story(HOST).records).is_success
        found = {"q": f"process_name:powershell.exe hostname:{HOST}"}
        wait_for(lambda: client.get("/api/v1/process", params=found).json()["total_results"], 1)
    with visiting() as visit:
        page = visit.open(f"/ui/sigma/{NUMBER}")
        assert "Exact" in page.inner_text("[data-rule-query]")
        query = page.input_value("[data-rule-query] textarea")
        assert query == (
            f"os_type:windows creation_observed:true path:*\\powershell.exe cmdline:*{HOST}*"
        )
        page.keyboard.press("y")
        page.keyboard.press("q")
        page.wait_for_selector(":text('Query copied')")
        page.keyboard.press("s")
        page.wait_for_url("**/ui/process?**")
        page.wait_for_selector("#results tr[data-row]")
        assert page.locator("#results tr[data-row]").count() == 1
        assert HOST in page.inner_text("#results tr[data-row]")

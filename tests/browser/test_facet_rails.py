"""Programs and Sigma rules are narrowed by the values of their facets."""

from tests.browser.conftest import SHARED, Visiting
from tests.browser.test_policy_pages import RULE
from tests.support.served import Server

pytestmark = SHARED
NUMBER = "5f3c2a10-0000-4000-8000-00000000{:04}"


def value(facet: str, text: str) -> str:
    return f"[data-facet='{facet}'] li[data-value='{text}']"


def test_programs_are_narrowed_by_facets(visiting: Visiting) -> None:
    with visiting() as visit:
        page = visit.open("/ui/binary")
        facets = page.locator("[data-facet]").evaluate_all(
            "all => all.map((one) => one.dataset.facet)"
        )
        assert {"observed_filename_facet", "host_count", "server_added_timestamp"} <= set(facets)
        first = page.locator("[data-facet=host_count] li[data-field]").first
        count = first.get_attribute("data-count")
        first.locator("[data-narrow=include]").focus()
        page.keyboard.press("+")
        page.wait_for_url("**q=host_count*")
        page.wait_for_selector("html[data-ready]")
        assert page.inner_text(".queue-bar [role=status]").startswith(f"{count} ")
        assert page.locator("[data-facet=host_count] [aria-pressed=true]").count() >= 1
        path = page.locator("[data-facet=observed_filename_facet] li[data-field]").first
        path.locator("[data-narrow=exclude]").click()
        page.wait_for_url("**-observed_filename*")
        page.wait_for_selector("html[data-ready]")
        assert page.inner_text(".queue-bar [role=status]").split()[0] != count


def test_the_rare_end_of_a_facet_of_programs_is_read(visiting: Visiting) -> None:
    with visiting() as visit:
        page = visit.open("/ui/binary")
        page.click("[data-facet=observed_filename_facet] [data-rare]")
        page.wait_for_selector("[data-facet=observed_filename_facet] [data-more]")
        page.click("[data-facet=observed_filename_facet] [data-more]")
        page.wait_for_selector(
            "[data-facet=observed_filename_facet] [data-rare][aria-pressed=false]"
        )
        page.keyboard.press("F")
        assert not page.is_visible("#facets")
        assert "rail=off" in page.url


def test_rules_are_narrowed_by_level_state_tactic_and_log_source(
    visiting: Visiting, server: Server
) -> None:
    with server.analyst() as client:
        for number, level, tactic in ((9201, "high", "execution"), (9202, "low", "impact")):
            text = RULE.replace("5f3c2a10-0000-4000-8000-00000000abcd", NUMBER.format(number))
            text = text.replace("medium", level).replace("Shells of Word", "Faceted")
            text += f"tags: [attack.{tactic}]\n"
            assert client.post("/api/v1/sigma", json={"text": text}).is_success
    with visiting() as visit:
        page = visit.open("/ui/sigma?q=Faceted")
        for facet in ("level", "state", "tactic", "logsource"):
            assert page.locator(f"[data-facet={facet}] li").count() >= 1, facet
        assert page.locator(value("logsource", "windows/process_creation")).count() == 1
        page.focus(value("tactic", "impact") + " [data-narrow=include]")
        page.keyboard.press("+")
        page.wait_for_url("**tactic=impact*")
        page.wait_for_selector("html[data-ready]")
        rows = page.locator("main tr[data-row]")
        assert rows.count() == 1
        assert f"/ui/sigma/{NUMBER.format(9202)}" in rows.locator("a").get_attribute("href")
        assert page.locator("#call").count() == 0  # the API has no parameter for it
        page.locator(value("tactic", "impact") + " [data-narrow=exclude]").click()
        page.wait_for_url("**tactic=-impact*")
        page.wait_for_selector("html[data-ready]")
        assert page.locator("main tr[data-row]").count() == 1
        assert page.locator(value("tactic", "impact") + " [aria-current=true]").count() == 1
        page.locator(value("level", "high") + " [data-narrow=only]").click()
        page.wait_for_url("**/ui/sigma?level=high")
        page.wait_for_selector("html[data-ready]")
        levels = page.locator("main tr[data-row] td:nth-child(2)").all_inner_texts()
        assert set(levels) == {"high"}

"""A search that had no time for the whole store is read on from where it stopped, and what stands
beside its rows says that it is of a part."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.conftest import Visiting
from tests.browser.test_accessibility import settled, violations
from tests.support.hurried_server import WINDOWS, hurried_server
from tests.support.served import Server, hire, open_group
from vedette.model.principal import Role


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with hurried_server(tmp_path_factory.mktemp("hurried")) as running:
        yield running


def names(page: Any) -> list[str]:
    return list(page.locator("td[data-field=process_name]").all_inner_texts())


@pytest.mark.parametrize("span", ["all", "-24h"])
def test_all_parts_together_are_the_whole_and_none_has_what_another_has(
    visiting: Visiting, span: str
) -> None:
    with visiting() as visit:
        page = visit.open(f"/ui/process?t={span}&n=10")
        found: list[str] = []
        for _ in range(WINDOWS):
            settled(page)
            found += names(page)
            if not page.locator("[data-key=C]").count():
                break
            before = page.url
            page.keyboard.press("C")
            page.wait_for_url(lambda url, old=before: url != old)
            page.wait_for_selector("html[data-ready] [data-rest]")
        assert sorted(found) == sorted(f"p{number}.exe" for number in range(WINDOWS))


def test_what_stands_beside_a_part_is_counted_of_it_and_says_so(visiting: Visiting) -> None:
    with visiting() as visit:
        page = visit.open("/ui/process?t=all")
        settled(page)
        shown = len(names(page))
        assert 0 < shown < WINDOWS
        assert page.locator(".rail [data-part]").is_visible()
        assert page.locator(".over-time figcaption [data-part]").is_visible()
        page.click(".over-time summary:text('Show as table')")
        page.wait_for_selector(".over-time table")
        counts = page.locator(".over-time table td.num").all_inner_texts()
        assert sum(map(int, counts)) == shown
        page.click(".over-time summary:text('By weekday')")
        page.wait_for_selector("table.week [data-part]")
        starts = page.locator("table.week td").all_inner_texts()
        assert sum(int(one) for one in starts if one.isdigit()) == shown
        page.click("[data-facet=hostname] [data-rare]")
        page.wait_for_selector("[data-facet=hostname] [data-more]")
        assert 0 < int(page.get_attribute("[data-facet=hostname] li", "data-count") or 0) <= shown
        assert violations(page) == []


def test_what_was_read_first_is_a_press_away(visiting: Visiting) -> None:
    with visiting() as visit:
        page = visit.open("/ui/process?t=all")
        first = names(page)
        page.keyboard.press("C")
        page.wait_for_selector("html[data-ready] [data-rest]")
        assert "stored before" in page.inner_text("[data-rest]")
        settled(page)
        assert violations(page) == []
        page.click("[data-rest] a")
        page.wait_for_url(lambda url: "before=" not in url)
        page.wait_for_selector("html[data-ready] tr[data-row]")
        assert names(page) == first


def test_a_new_query_begins_with_the_newest_again(visiting: Visiting) -> None:
    with visiting() as visit:
        page = visit.open("/ui/process?t=all")
        first = names(page)
        page.keyboard.press("C")
        page.wait_for_selector("html[data-ready] [data-rest]")
        page.fill("[name=q]", "process_name:*.exe")
        page.keyboard.press("Enter")
        page.wait_for_selector("#results:not(:has([data-rest])) tr[data-row]")
        assert names(page) == first


def test_how_far_a_search_came_shows_nothing_of_hidden_hosts(
    visiting: Visiting, server: Server
) -> None:
    group, _ = open_group(server, "empty")
    token = hire(server, "sees-nothing", {group: Role.VIEWER})
    with visiting(cookie=None, extra_http_headers={"X-Auth-Token": token}) as visit:
        for part in ("", "&before=2100-01-01"):
            page = visit.open(f"/ui/process?t=all{part}")
            settled(page)
            assert page.locator("[data-key=C], tr[data-row]").count() == 0


@pytest.mark.parametrize("before", ["-24h", "NOW", "x", "<b>", "1969-01-01"])
def test_a_border_that_is_none_is_refused(server: Server, before: str) -> None:
    with server.analyst() as client:
        for path, name in (("/ui/process", "before"), ("/api/v1/process", "svc.before")):
            assert client.get(path, params={name: before}).status_code == 400

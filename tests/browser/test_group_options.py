"""The options of a sensor group, changed where they are explained."""

from typing import Any

import pytest

from tests.browser.conftest import SHARED, Visiting
from tests.support.served import Server, hire
from vedette.model.principal import Role

pytestmark = SHARED

PATH = "/ui/groups/1"


@pytest.fixture
def options(server: Server) -> Any:
    def read() -> dict[str, Any]:
        with server.analyst() as client:
            return dict(client.get("/api/v1/group/1").json()[0])

    return read


def test_only_what_was_changed_is_sent_and_a_refusal_keeps_the_fields(
    visiting: Visiting, server: Server, options: Any
) -> None:
    before = options()
    sent: list[dict[str, Any]] = []
    with visiting() as visit:
        visit.expected.append("400")
        page = visit.open(PATH)
        page.on("request", lambda one: one.method == "PUT" and sent.append(one.post_data_json))
        page.uncheck("[name=collect_regmods]")
        page.fill("[name=checkin_interval_s]", "60")
        page.select_option("[name=binary_orders]", "asked")
        page.fill("[name=isolation_exclusions]", "10.0.0.5:443 the proxy\n# 10.0.0.6 old <b>")
        page.fill("[name=event_exclusions]", "netconn,filemod C:\\Program Files\\x*\\a.exe")
        page.fill("[name=secret_patterns]", "key=(")
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("#undo .failed")
        assert "secret_patterns" in page.inner_text("#undo .failed")
        assert options() == before
        assert page.input_value("[name=checkin_interval_s]") == "60"
        with server.analyst() as client:  # somebody else, meanwhile
            assert client.put("/api/v1/group/1", json={"alert_criticality": 5}).is_success
        page.fill("[name=secret_patterns]", "key=\\w+")
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("#undo :text('Saved')")
        assert not page.is_checked("[name=collect_regmods]")
        assert page.input_value("[name=isolation_exclusions]").endswith("# 10.0.0.6 old <b>")
    after = options()
    changed = {name: after[name] for name in after if after[name] != before[name]}
    was = sent[-1].pop("was")
    assert set(was) == set(sent[-1]) == set(changed) - {"alert_criticality"}
    assert changed["alert_criticality"] == 5
    assert changed["secret_patterns"] == ["key=\\w+"]
    assert changed["event_exclusions"] == [
        {"eventsToIgnore": ["netconn", "filemod"], "paths": ["C:\\Program Files\\x*\\a.exe"]}
    ]
    assert [one["enabled"] for one in changed["isolation_exclusions"]] == [True, False]


def test_who_may_not_change_options_reads_them(visiting: Visiting, server: Server) -> None:
    headers = {"X-Auth-Token": hire(server, "options-admin", {1: Role.ADMINISTRATOR})}
    with visiting(cookie=None, extra_http_headers=headers) as visit:
        page = visit.open(PATH)
        assert page.locator("#options .primary").count() == 0
        assert (
            page.locator("#options :is(input, select, textarea):enabled:not([readonly])").count()
            == 0
        )
        assert "global administrators" in page.inner_text("#options")


def test_a_group_names_the_teams_that_have_a_role_in_it(visiting: Visiting, server: Server) -> None:
    """To global administrators, who alone may know all teams."""
    name = "watchers"
    token = hire(server, name, {1: Role.ANALYST})
    with visiting() as visit:
        page = visit.open(PATH)
        shown = page.inner_text("section:has(> header :text('Access control'))")
        assert f"team of {name}" in shown
        assert shown.index(f"team of {name}") < shown.index("Analyst")
    with visiting(cookie=None, extra_http_headers={"X-Auth-Token": token}) as visit:
        assert f"team of {name}" not in visit.open(PATH).inner_text("main")

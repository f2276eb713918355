"""A ban, an ingress filter and a rule each have a page that says what follows from them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tests.browser.conftest import Visiting, until
from tests.browser.test_accessibility import violations
from tests.support.served import Server, start_server, wait_for
from tests.support.sysmon import story
from vedette.state.accounts import license as licenses

HOST = "policy.example"
RULE = """title: Shells of Word
id: 5f3c2a10-0000-4000-8000-00000000abcd
status: test
level: medium
logsource: {product: windows, category: process_creation}
detection:
  shell:
    Image|endswith: '\\powershell.exe'
  condition: shell
"""


def provider_keys(folder: Path) -> tuple[Path, Path]:
    """The private and the public key of who issues licenses, as files."""
    private, public = folder / "private.pem", folder / "public.pem"
    if not private.exists():
        key = Ed25519PrivateKey.generate()
        pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
        kind = serialization.PublicFormat.SubjectPublicKeyInfo
        private.write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))
        public.write_bytes(key.public_key().public_bytes(pem, kind))
    return private, public


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("policy")
    key = f"license_provider_key={provider_keys(folder)[1]}"
    running = start_server(folder, "--set", key)
    found = next(running)
    with found.sender() as sender:
        assert sender.post("/api/v1/ingest", json=story(HOST).records).status_code == 200
    yield found
    running.close()


@pytest.fixture(scope="module")
def shell(server: Server) -> dict[str, Any]:
    with server.analyst() as client:
        query = {"q": f"hostname:{HOST} process_name:powershell.exe", "rows": 1}
        (row,) = client.get("/api/v1/process", params=query).json()["results"]
    return dict(row)


def test_a_ban_has_a_page_with_what_it_hits_and_its_history(
    visiting: Visiting, server: Server, shell: dict[str, Any]
) -> None:
    md5 = shell["process_md5"]
    with server.analyst() as client:
        body = {"md5hash": md5, "text": "<b>bad</b>"}
        assert client.post("/api/v1/banning/bannedlist", json=body).is_success
    with visiting() as visit:
        page = visit.open("/ui/bans")
        page.focus(f"tr[data-row='{md5}']")
        page.keyboard.press("Enter")
        page.wait_for_url(f"**/ui/bans/{md5}")
        page.wait_for_selector("html[data-ready]")
        assert "<b>bad</b>" in page.inner_text(".facts >> nth=0")
        hits = page.inner_text("main")
        assert "not enforced: no sensor" in hits  # a log shipper alone reports for the host
        assert HOST in hits
        page.keyboard.press("N")
        page.wait_for_selector("#reason[open]")
        page.fill("#reason [name=text]", "another reason")
        page.keyboard.press("Control+Enter")
        page.wait_for_selector(".history :text('another reason')")
        page.keyboard.press("e")
        page.wait_for_selector(".history :text('removed the ban')")
    with server.analyst() as client:
        assert not client.get(f"/api/v1/banning/bannedlist/{md5}").json()["enabled"]


def test_a_filter_is_checked_on_its_page_before_it_can_be_saved(
    visiting: Visiting, server: Server
) -> None:
    path = "c:\\program files\\a b.exe"
    with server.analyst() as client:
        body = {"id": "shells", "name": "Shells", "path_filters": [path], "enabled": False}
        assert client.post("/api/v1/ingress_approvedlist", json=body).is_success
    with visiting() as visit:
        page = visit.open("/ui/filters/shells")
        page.wait_for_selector("[data-check] dl")
        assert page.input_value("[name=path_filters]") == path  # one path, though it has spaces
        page.wait_for_selector("[data-save]:enabled")
        page.fill("[name=path_filters]", "*\\powershell.exe\nc:\\x y\\z.exe")
        assert page.is_disabled("[data-save]")
        page.keyboard.press("Control+Enter")  # no key saves what was not checked
        page.wait_for_selector("[data-save]:enabled")
        assert client_filter(server)["path_filters"] == [path]
        assert "1, " in page.inner_text("[data-check] dd >> nth=0")
        page.fill("[name=description]", "nightly")
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("#undo :text('Saved')")
    found = client_filter(server)
    assert found["path_filters"] == ["*\\powershell.exe", "c:\\x y\\z.exe"]
    assert (found["description"], found["enabled"]) == ("nightly", False)


def test_a_check_says_how_far_it_is_and_can_be_ended(visiting: Visiting, server: Server) -> None:
    far = {"progress": {"looking_at": "processes", "done": 20_000, "of": 80_000}}
    with server.analyst() as client:
        body = {"id": "slow", "name": "Slow", "path_filters": ["*none.exe"], "enabled": False}
        assert client.post("/api/v1/ingress_approvedlist", json=body).is_success
    with visiting() as visit:
        visit.page.route("**/check?progress=true", lambda _: None)
        page = visit.open("/ui/filters/slow")
        page.click("[data-check] button")
        page.wait_for_selector("[data-check] :text('Not tested')")
        assert page.is_disabled("[data-save]")
        page.unroute("**/check?progress=true")
        hostile = "c:\\<img src=x onerror=alert(1)>.exe"
        trial = {
            **{"processes_meant": 3, "process_share": 0.1, "events_dropped": 9},
            **{"event_share": 0.1, "dropped_hosts": 1, "dropped_paths": 3_000},
            "dropped_by": {
                "kind": [{"name": "filemod", "events": 9}],
                "host": [{"sensor_id": 1, "hostname": hostile, "events": 9}],
                "path": [{"path": hostile, "events": 9}],
            },
        }
        hits = [{"kind": "rule", "id": "r-1", "name": hostile, "hits": 3}]
        result = json.dumps({"filters": [trial], "blinded": hits})
        lines = f"{json.dumps(far)}\n{json.dumps(far)}\n{result}\n"
        visit.page.route("**/check?progress=true", lambda route: route.fulfill(body=lines))
        page.click("[data-check] :text('Retry')")
        page.wait_for_selector("[data-check] .splits")
        shown = page.inner_text("[data-check]")
        assert shown.count(hostile) == 3
        assert "and 2\u2009999 more" in shown
        link = page.get_attribute("[data-check] a:text('3 hits')", "href")
        assert link == "/ui/alerts?q=source%3Arule%20source_id%3A%22r-1%22&t=-24h"
        assert violations(page) == []
        broken = json.dumps({"reason": "deadline", "message": "too late <b>"})
        visit.page.route("**/check?progress=true", lambda route: route.fulfill(body=broken))
        page.click("[data-check-now]")
        page.wait_for_selector("[data-check] :text('too late <b>')")
        assert page.is_disabled("[data-save]")


def test_what_goes_blind_with_a_filter_and_was_ticked_is_audited(
    visiting: Visiting, server: Server
) -> None:
    named = [{"kind": "rule", "id": "r-1", "name": "<i>it's"}, {"kind": "watchlist", "id": "7"}]
    shares = {
        **{"processes_meant": 1, "process_share": 0.1, "events_dropped": 2, "event_share": 0.1},
        "dropped_by": {"kind": [], "host": [], "path": []},
    }
    blinded = [{"name": "", "hits": 3, **one} for one in named]
    trial = {"filters": [shares], "blinded": blinded}
    with server.analyst() as client:
        body = {"id": "ticked", "name": "Ticked", "path_filters": ["*none.exe"]}
        assert client.post("/api/v1/ingress_approvedlist", json=body).is_success
    with visiting() as visit:
        visit.page.route("**/check?progress=true", lambda route: route.fulfill(json=trial))
        page = visit.open("/ui/filters/ticked")
        page.wait_for_selector("[data-check] dl")
        page.fill("[name=description]", "why")
        assert page.is_disabled("[data-save]")
        for box in page.locator("[data-check] input").all():
            box.check()
        page.click("[data-save]:enabled")
        page.wait_for_selector("#undo :text('Saved')")
    with server.analyst() as client:
        query = {"kind": "ingress filter", "target": "ticked"}
        entry = client.get("/api/v1/audit", params=query).json()["results"][0]
    assert (entry["action"], entry["after"]["accepted_blind"]) == ("change", named)


def test_a_filter_is_tried_on_one_event_before_it_is_saved(
    visiting: Visiting, server: Server
) -> None:
    with visiting() as visit:
        page = visit.open("/ui/filters")
        page.keyboard.press("n")
        page.wait_for_selector("#filter[open]")
        page.fill("[name=path_filters]", "/opt/x*\n/usr/lib/gcc/*")
        page.click("[data-sample] summary")
        page.fill("[data-member=path]", "/usr/lib/gcc/cc1")
        page.wait_for_selector("[data-sampled] :text('The process and all its events are dropped')")
        assert "path_filters: /usr/lib/gcc/*" in page.inner_text("[data-sampled]")
        page.fill("[name=cmdline_filters]", "-O2")  # the sample follows the filter
        page.wait_for_selector("[data-sampled] :text('Stored.')")
        assert "cmdline_filters: no matching entry" in page.inner_text("[data-sampled]")
        page.fill("[name=cmdline_filters]", "(")
        visit.expected.append("400")
        page.wait_for_selector("[data-sampled] .bar.broken")


def test_a_filter_is_given_an_end_on_its_page_and_in_the_list(
    visiting: Visiting, server: Server
) -> None:
    with server.analyst() as client:
        body = {"id": "for-a-time", "name": "For a time", "path_filters": ["*\\x.exe"]}
        assert client.post("/api/v1/ingress_approvedlist", json=body).is_success
        with visiting() as visit:
            page = visit.open("/ui/filters/for-a-time")
            assert "never" in page.inner_text("main dl:has(dt:text-is('Expires'))")
            page.keyboard.press("E")
            page.wait_for_selector("#expiry[open]")
            page.select_option("#expiry [name=expires]", "24")
            page.keyboard.press("Control+Enter")
            page.wait_for_selector("#undo :text('Changed')")
            assert "never" not in page.inner_text("main dl:has(dt:text-is('Expires'))")
            page = visit.open("/ui/filters")
            row = "tr[aria-label='For a time, enabled']"
            assert "until" in page.inner_text(row)
            page.focus(row)
            page.keyboard.press("E")
            page.wait_for_selector("#expiry[open]")
            page.select_option("#expiry [name=expires]", "0")
            page.keyboard.press("Control+Enter")
            page.wait_for_selector("#undo :text('Changed')")
            assert "until" not in page.inner_text(row)
        found = client.get("/api/v1/ingress_approvedlist/for-a-time").json()
        assert (found["enabled"], found["expires"]) == (True, None)
        assert client.delete("/api/v1/ingress_approvedlist/for-a-time").is_success


def client_filter(server: Server) -> dict[str, Any]:
    with server.analyst() as client:
        return dict(client.get("/api/v1/ingress_approvedlist/shells").json())


def test_what_the_check_says_is_what_the_server_drops_of_the_same_again(
    visiting: Visiting, server: Server
) -> None:
    """The consequence that is shown is that of a real run: the same story of another host."""
    with visiting() as visit:
        page = visit.open(f"/ui/filters?path=*{chr(92)}powershell.exe&name=real")
        page.wait_for_selector("#filter[open] [data-check] dl")
        shown = int(page.inner_text("[data-check] dd >> nth=0").split(",")[0])
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("#undo :text('Saved')")
    again = "policy-again.example"
    with server.sender() as sender:
        assert sender.post("/api/v1/ingest", json=story(again).records).status_code == 200
    with server.analyst() as client:
        counts = [
            client.get("/api/v1/process", params={"q": f"hostname:{name}", "rows": 0}).json()
            for name in (HOST, again)
        ]
        (made,) = [
            one
            for one in client.get("/api/v1/ingress_approvedlist").json()
            if one["name"] == "real"
        ]
        client.delete(f"/api/v1/ingress_approvedlist/{made['id']}")
    before, after = (one["total_results"] for one in counts)
    assert before - after == shown > 0


def test_a_rule_shows_what_each_text_changed(visiting: Visiting, server: Server) -> None:
    with server.analyst() as client:
        for text in (RULE, RULE.replace("medium", "high").replace("Word", "<img src=x>")):
            assert client.post("/api/v1/sigma", json={"text": text}).is_success
        (rule,) = client.get("/api/v1/sigma", params={"q": "5f3c2a10"}).json()["results"]
    with visiting() as visit:
        page = visit.open(f"/ui/sigma/{rule['id']}")
        page.keyboard.press("v")
        page.wait_for_url("**/versions")
        page.wait_for_selector("[data-revision='2'] .diff")
        assert page.locator("[data-revision='2'] ins").all_inner_texts() == [
            "+ title: Shells of <img src=x>",
            "+ level: high",
        ]
        assert page.locator("[data-revision='2'] del").all_inner_texts() == [
            "- title: Shells of Word",
            "- level: medium",
        ]
        assert "powershell.exe" in page.inner_text("[data-revision='1'] .code")
        assert page.locator("main img").count() == 0


def test_an_update_without_a_package_is_off_and_says_why(visiting: Visiting) -> None:
    with visiting() as visit:
        page = visit.open("/ui/sensors")
        button = page.locator("[data-deed=update]")
        assert button.get_attribute("aria-disabled") == "true"
        assert "No sensor package" in str(button.get_attribute("title"))
        page.keyboard.press("W")
        button.dispatch_event("click")
        page.keyboard.press("N")  # what is allowed opens, and only that
        page.wait_for_selector("#fleet[open]")
        until(page, "document.getElementById('fleet-title').innerText.startsWith('Note')")


def test_addresses_are_approved_without_locking_oneself_out(
    visiting: Visiting, server: Server
) -> None:
    with visiting() as visit:
        page = visit.open("/ui/settings")
        switch = page.locator("[data-dialog=approving]")
        assert switch.get_attribute("aria-disabled") == "true"
        assert "lock you out" in str(switch.get_attribute("title"))
        page.fill("[name=ipaddr]", "127.0.0.0/8 192.0.2.7")
        page.click("button:text('Approve')")
        page.wait_for_selector("li :text('yours')")
        page.keyboard.press("e")
        page.wait_for_selector("#approving[open] [data-save]:enabled")
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("main :text('only these addresses')")
        own = page.get_by_label("Remove 127.0.0.0/8")
        assert own.get_attribute("aria-disabled") == "true"
        page.get_by_label("Remove 192.0.2.7").click()
        page.wait_for_selector("#unapprove[open] [data-save]:enabled")
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("#undo :text('Removed')")
        assert page.get_by_label("Remove 192.0.2.7").count() == 0
        page.keyboard.press("e")
        page.wait_for_selector("main :text('any address can access')")
        page.get_by_label("Remove 127.0.0.0/8").click()
        page.wait_for_selector("main :text('No approved addresses')")
    with server.analyst() as client:
        assert client.get("/api/v1/approvedlist/entries").json() == []


def test_a_setting_of_the_database_is_changed_and_its_secret_is_not_shown(
    visiting: Visiting, server: Server
) -> None:
    with visiting() as visit:
        page = visit.open("/ui/settings")
        page.fill("[name=server_url]", "control.example")
        page.fill("[name=auth_token]", "s3cret-token")
        page.uncheck("[name=ssl_certificate_verify]")
        page.click("button:text('Save')")
        page.wait_for_selector("#undo :text('Saved')")
        assert page.input_value("[name=server_url]") == "control.example"
        assert "s3cret" not in page.content()
        assert "stored; changing the host deletes it" in page.inner_text("main")
    with server.analyst() as client:
        kept = client.get("/api/v1/settings/global/platformserver").json()
    assert (kept["server_url"], kept["ssl_certificate_verify"]) == ("control.example", False)
    assert kept["auth_token_set"]


def test_a_license_is_applied_and_one_of_another_server_is_refused(
    visiting: Visiting, server: Server
) -> None:
    private, _ = provider_keys(server.data)
    with server.analyst() as client:
        token = client.get("/api/v1/license").json()["server_token"]
    other = licenses.issue(private, "another-server", 500, "2099-01-31")
    with visiting() as visit:
        visit.expected.append("400")
        page = visit.open("/ui/settings")
        assert token in page.inner_text("main")
        page.fill("[name=license]", other)
        page.click("button:text('Apply')")
        page.wait_for_selector("#undo .failed :text('another server')")
        assert page.input_value("[name=license]") == other
        assert "none (not required)" in page.inner_text("main")
        page.fill("[name=license]", licenses.issue(private, token, 500, "2099-01-31"))
        page.click("button:text('Apply')")
        page.wait_for_selector("main :text('for 500 sensors, until 2099-01-31')")


def test_an_import_of_rules_is_shown_before_it_is_done(visiting: Visiting, server: Server) -> None:
    number = "5f3c2a10-0000-4000-8000-00000000ab01"
    text = RULE.replace("5f3c2a10-0000-4000-8000-00000000abcd", number)
    with visiting() as visit:
        page = visit.open("/ui/sigma")
        page.keyboard.press("n")
        page.fill("#import textarea", f"{text}---\ntitle: <b>broken\nlevel: high\n")
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("#import [data-tried] li")
        shown = page.inner_text("#import [data-tried]")
        assert "1 new" in shown
        assert "1 rejected" in shown
        assert "document#2:11 <b>broken" in shown
        with server.analyst() as client:
            assert client.get(f"/api/v1/sigma/{number}").status_code == 404
        page.keyboard.press("Control+Enter")
        page.wait_for_selector(f"a[href='/ui/sigma/{number}']")


def test_a_rule_says_what_it_asks_and_how_many_of_its_alerts_were_false(
    visiting: Visiting, server: Server, shell: dict[str, Any]
) -> None:
    number, host = "5f3c2a10-0000-4000-8000-00000000ab02", "asked.example"
    text = RULE.replace("5f3c2a10-0000-4000-8000-00000000abcd", number)
    text = text.replace(
        "  condition: shell", "  odd:\n    CallTrace|contains: <i>\n  condition: shell or odd"
    )
    with server.analyst() as client, server.sender() as sender:
        assert client.post("/api/v1/sigma", json={"text": text, "enabled": True}).is_success
        assert sender.post("/api/v1/ingest", json=story(host).records).is_success
        query = {"q": f'source_id:"{number}"'}

        def alerts() -> list[dict[str, Any]]:
            return list(client.get("/api/v2/alert", params=query).json()["results"])

        assert wait_for(lambda: len(alerts()), 1, 60.0) == 1
        change = {"status": "False Positive"}
        assert client.post(f"/api/v1/alert/{alerts()[0]['unique_id']}", json=change).is_success
    with visiting() as visit:
        page = visit.open(f"/ui/sigma/{number}")
        lines = page.inner_text("[data-condition]").splitlines()
        assert lines[:3] == [
            "any of",
            '  Image endswith "\\powershell.exe"',
            '  CallTrace contains "<i>"',
        ]
        fields = page.locator("[data-fields] li").all_inner_texts()
        assert [one.split() for one in fields] == [
            ["CallTrace", "evaluated", "on", "arrival,", "not", "stored"],
            ["Image"],
        ]
        assert "100% of 1 closed alerts" in page.inner_text("main")
        query = page.inner_text("[data-rule-query]")
        assert "the rule cannot be expressed" in query
        assert 'CallTrace contains "<i>"' in query
        page = visit.open("/ui/sigma")
        row = page.locator("tr", has=page.locator(f"a[href='/ui/sigma/{number}']"))
        assert row.locator("[data-label='False positives']").inner_text() == "100%"

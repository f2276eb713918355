"""The page of a program, from its hash alone to its bytes."""

import hashlib
import os
import re

import httpx

from tests.api.test_binary_reading import described, put, started, was_read
from tests.support.page_text import tight
from tests.support.pe_file import pe_file
from tests.support.sensor import enrol, secret_of, sending_group
from tests.support.served import Server, hire, state_of
from vedette.model.principal import Role
from vedette.state.policy import groups

HOSTILE = "<img src=x onerror=alert(1)>"


def test_the_page_orders_a_file_and_then_shows_what_is_in_it(
    server: Server, analyst: httpx.Client
) -> None:
    group_id = sending_group(server, f"page-{os.urandom(3).hex()}", binary_orders="asked")
    content = pe_file(version={"ProductName": "Own Suite", "FileDescription": HOSTILE})[:-8]
    content += os.urandom(8)
    md5, sha256 = hashlib.md5(content).hexdigest(), hashlib.sha256(content).hexdigest()
    with server.client() as client:
        sensor = enrol(client, f"page-{os.urandom(3).hex()}.example", secret_of(server, group_id))
        started(sensor, f"c:\\{HOSTILE}.exe", md5, sha256)
        page = tight(analyst.get(f"/ui/binary/{md5}").text)
        assert "The file is not stored" in page
        assert ">1 host, 1 execution<" in page
        german = analyst.get(f"/ui/binary/{md5}", headers={"Accept-Language": "de"}).text
        german = tight(german)
        assert ">1 Host, 1 Ausführung<" in german
        assert f'data-call="POST /api/v1/binary/{md5}/request"' in page
        assert analyst.post(f"/api/v1/binary/{md5}/request", json={}).status_code == 200
        assert "File request: waiting" in analyst.get(f"/ui/binary/{md5}").text
        file = {"sha256": sha256, "md5": md5, "size": len(content), "path": "c:\\x"}
        assert sensor.post("binaries/offer", {"files": [file]}).json()["want"]
        put(sensor, sha256, 0, content)
        described(analyst, md5, was_read)
        page = analyst.get(f"/ui/binary/{md5}").text
        for wanted in (
            "Own Suite",
            "stored",
            f'action="/api/v1/binary/{md5}"',
            "Unsigned",
            "Usage",
            sensor.hostname,
            f'src="/api/v1/binary/{md5}/icon"',
        ):
            assert wanted in page, wanted
        assert HOSTILE not in page
        assert "Executions by day" in page
        assert page.split("data-days")[1].count("<rect") == 1  # one day of one run
        assert ">Sensor groups<" in page
        wanted = {"reason": "incident 7 <b>"}
        assert analyst.get(f"/api/v1/binary/{md5}", params=wanted).status_code == 200
        asked = {"q": "", "rows": 20}
        assert "incident 7 <b>" in str(analyst.get("/api/v1/audit", params=asked).json())
        too_long = {"reason": "x" * 1_001}
        assert analyst.get(f"/api/v1/binary/{md5}", params=too_long).status_code == 400


def test_the_page_of_an_unknown_program_says_so(analyst: httpx.Client) -> None:
    assert "Not found" in analyst.get(f"/ui/binary/{os.urandom(16).hex()}").text


def test_a_program_known_by_its_sha256_alone_has_a_page(
    server: Server, analyst: httpx.Client
) -> None:
    name = f"sha-{os.urandom(3).hex()}"
    group_id = sending_group(server, f"{name} <b>", binary_orders="off")
    sha256 = os.urandom(32).hex()
    with server.client() as client:
        sensor = enrol(client, f"{name}.example", secret_of(server, group_id))
        started(sensor, f"c:\\{HOSTILE}.exe", "", sha256)
    page = tight(analyst.get(f"/ui/binary/{sha256.upper()}").text)
    for wanted in (
        ">1 host, 1 execution<",
        "not reported",
        f'<dd class="mono">{sha256}</dd>',
        f"q=process_sha256%3A{sha256}",
        f"q=sha256%3A{sha256}",
        f"{name}.example",
        "Bans require an MD5 hash",
        f'src="/api/v1/binary/{sha256}/icon"',
        "Executions by day",
        "Uploads are disabled in",
        f'<a href="/ui/groups/{group_id}">',
        f"{name} &lt;b&gt;",
    ):
        assert wanted in page, wanted
    assert HOSTILE not in page
    assert 'data-dialog="ban"' not in page
    listed = analyst.get("/ui/binary", params={"q": f"sha256:{sha256}"}).text
    assert f'href="/ui/binary/{sha256}"' in listed.lower()
    assert "0" * 32 not in listed
    assert analyst.get(f"/api/v1/binary/{sha256}/icon").status_code == 200


def test_a_sha256_leads_to_the_page_of_the_md5_that_hosts_tell(
    server: Server, analyst: httpx.Client
) -> None:
    name = f"both-{os.urandom(3).hex()}"
    group_id = sending_group(server, name, binary_orders="asked")
    md5, other, sha256 = os.urandom(16).hex(), os.urandom(16).hex(), os.urandom(32).hex()
    with server.client() as client:
        sensor = enrol(client, f"{name}.example", secret_of(server, group_id))
        started(sensor, "c:\\both.exe", md5, sha256)
        answer = analyst.get(f"/ui/binary/{sha256}", follow_redirects=False)
        assert (answer.status_code, answer.headers["location"]) == (303, f"/ui/binary/{md5}")
        started(sensor, "c:\\liar.exe", other, sha256)
    page = analyst.get(f"/ui/binary/{sha256}", follow_redirects=False).text
    assert "report different MD5" in page
    for one in (md5, other):
        assert f'href="/ui/binary/{one}"' in page
    assert "Uploads are disabled" not in analyst.get(f"/ui/binary/{md5}").text


def test_a_sha256_of_hidden_hosts_is_not_known(server: Server, analyst: httpx.Client) -> None:
    name = f"hidden-{os.urandom(3).hex()}"
    group_id = sending_group(server, name, binary_orders="off")
    with state_of(server) as database:
        mine = groups.add(database, f"{name}-mine").id
    sha256, reported, md5 = os.urandom(32).hex(), os.urandom(32).hex(), os.urandom(16).hex()
    with server.client() as client:
        hidden = enrol(client, f"{name}.example", secret_of(server, group_id))
        started(hidden, "c:\\secret.exe", "", sha256)
        started(hidden, "c:\\told.exe", md5, reported)
        seen = enrol(client, f"{name}-mine.example", secret_of(server, mine))
        started(seen, "c:\\told.exe", "", reported)
    token = hire(server, f"viv-{name}-mine", {mine: Role.VIEWER})
    with server.client(**{"X-Auth-Token": token}) as viewer:
        unknown = viewer.get(f"/ui/binary/{os.urandom(32).hex()}").text
        page = viewer.get(f"/ui/binary/{sha256}").text
        assert "with this SHA-256" in page
        assert "secret" not in page
        assert len(page.replace(sha256, "")) == len(re.sub("[0-9a-f]{64}", "", unknown))
        # That the hidden host knows its MD5, and may not upload it, is not told either.
        answer = viewer.get(f"/ui/binary/{reported}", follow_redirects=False)
        assert answer.status_code == 200
        for one in (md5, name + "<", f"/ui/groups/{group_id}"):
            assert one not in answer.text
    assert analyst.get(f"/ui/binary/{sha256}").text.count("secret.exe") > 0


def test_what_is_no_hash_has_no_page(analyst: httpx.Client) -> None:
    for wrong in ("x" * 64, "a" * 63, "a" * 65, "é" * 32):
        assert analyst.get(f"/ui/binary/{wrong}").status_code == 404, wrong

"""The page of a program, from its hash alone to its bytes."""

import hashlib
import os

import httpx

from tests.api.test_binary_reading import described, put, started, was_read
from tests.support.pe_file import pe_file
from tests.support.sensor import enrol, secret_of, sending_group
from tests.support.served import Server

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
        page = analyst.get(f"/ui/binary/{md5}").text
        assert "Known by its hash alone" in page
        assert ">1 host, 1 run<" in page
        german = analyst.get(f"/ui/binary/{md5}", headers={"Accept-Language": "de"}).text
        assert ">1 Host, 1 Start<" in german
        assert f'data-call="POST /api/v1/binary/{md5}/request"' in page
        assert analyst.post(f"/api/v1/binary/{md5}/request", json={}).status_code == 200
        assert "its file was ordered: waiting" in analyst.get(f"/ui/binary/{md5}").text
        file = {"sha256": sha256, "md5": md5, "size": len(content), "path": "c:\\x"}
        assert sensor.post("binaries/offer", {"files": [file]}).json()["want"]
        put(sensor, sha256, 0, content)
        described(analyst, md5, was_read)
        page = analyst.get(f"/ui/binary/{md5}").text
        for wanted in (
            *("Own Suite", "stored", f'action="/api/v1/binary/{md5}"', "Unsigned"),
            *("How it is run", sensor.hostname, f'src="/api/v1/binary/{md5}/icon"'),
        ):
            assert wanted in page, wanted
        assert HOSTILE not in page
        assert "Runs by day" in page
        assert page.split("data-days")[1].count("<rect") == 1  # one day of one run
        assert ">Sensor groups<" in page
        wanted = {"reason": "incident 7 <b>"}
        assert analyst.get(f"/api/v1/binary/{md5}", params=wanted).status_code == 200
        asked = {"q": "", "rows": 20}
        assert "incident 7 <b>" in str(analyst.get("/api/v1/audit", params=asked).json())
        too_long = {"reason": "x" * 1_001}
        assert analyst.get(f"/api/v1/binary/{md5}", params=too_long).status_code == 400


def test_the_page_of_an_unknown_program_says_so(analyst: httpx.Client) -> None:
    assert "Not known" in analyst.get(f"/ui/binary/{os.urandom(16).hex()}").text

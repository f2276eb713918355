"""A client that is made of `/openapi.json` alone drives the server; every answer has the members
and types that the document says, and no others."""

import hashlib
from typing import Any

import httpx
import pytest

from tests.support.openapi_client import DocumentClient, UndocumentedError
from tests.support.sensor import enrolment_body, lines, sending_secret, session
from tests.support.served import Server
from tests.support.sysmon import Story, story
from vedette.clock import SystemClock


@pytest.fixture(scope="module")
def document(analyst: httpx.Client) -> dict[str, Any]:
    return dict(analyst.get("/openapi.json").json())


@pytest.fixture(scope="module")
def client(document: dict[str, Any], analyst: httpx.Client, sent_story: Story) -> DocumentClient:
    return DocumentClient(document, analyst)


@pytest.fixture(scope="module")
def processes(client: DocumentClient) -> list[dict[str, Any]]:
    found = client["GET /api/v1/process"](q="hostname:api-host.corp.example", rows=50)
    assert found["total_results"] > 3
    return list(found["results"])


def test_searches(client: DocumentClient) -> None:
    fields = ["process_name", "start", "hostname"]
    assert client["GET /api/v1/process"](q="cmd", facet="true", **{"facet.field": fields})["facets"]
    assert client["POST /api/v1/process"]({"q": "", "rows": 2})["results"]
    assert client["GET /api/v1/query/explain"](q="process_name:cmd.exe -hostname:x")["terms"]
    client["GET /api/v1/query/explain"](q="(", fails=True)
    client["GET /api/v1/process"](rows="many", fails=True)


def test_a_process_in_every_form(client: DocumentClient, processes: list[dict[str, Any]]) -> None:
    for one in processes:
        where = {"process_id": one["id"], "segment_id": one["segment_id"]}
        base = "/api/v1/process/{process_id}"
        client[f"GET {base}/{{segment_id}}"](**where)
        client["GET /api/v2/process/{process_id}/{segment_id}"](**where)
        client[f"GET {base}/{{segment_id}}/preview"](**where, q="exe")
        client[f"GET {base}/{{segment_id}}/threat_intel_hits"](**where)
        client[f"GET {base}/segment"](process_id=one["id"])
        client[f"GET {base}/tree"](process_id=one["id"])
        client[f"GET {base}/timeline"](process_id=one["id"])
        for version in (1, 2, 3, 4):
            events = client["GET /api/v{version}/process/{process_id}/{segment_id}/event"]
            events(**where, version=version)
    assert any(one["netconn_count"] for one in processes)
    assert any(one["childproc_count"] for one in processes)


def test_process_analysis(client: DocumentClient, processes: list[dict[str, Any]]) -> None:
    base = "/api/v6/process"
    for one in processes[:4]:
        where = {"process_id": one["id"], "segment_id": one["segment_id"]}
        made = client[f"POST {base}/stream"](where)
        stream = {"stream_id": made["stream_id"]}
        client[f"GET {base}/stream/{{stream_id}}"](**stream, rows=50)
        wanted = {"criteria": {"event_type": ["netconn", "childproc"]}}
        client[f"PATCH {base}/stream/{{stream_id}}"](wanted, **stream, rows=50)
        client[f"POST {base}/stream/{{stream_id}}"](**stream)
        client[f"GET {base}/stream/{{stream_id}}"](**stream, fails=True)
        client[f"GET {base}/{{process_id}}/metadata"](process_id=one["id"])
        client[f"GET {base}/{{process_id}}/{{segment_id}}/bulk"](**where)
        client[f"GET {base}/{{process_id}}/{{segment_id}}/verify"](**where)
        assert client[f"GET {base}/{{process_id}}/{{segment_id}}/segment"](**where)


def test_binaries(client: DocumentClient) -> None:
    found = client["GET /api/v1/binary"](
        facet="true", **{"facet.field": ["observed_filename_facet", "group"]}
    )
    assert client["POST /api/v1/binary"]({"q": "", "rows": 1})["results"]
    with_md5 = [one for one in found["results"] if one["md5"].strip("0")]
    assert with_md5
    for one in with_md5:
        client["GET /api/v1/binary/{md5}/summary"](md5=one["md5"])
    # Copies of binaries may be there: other tests of the same server send some.
    client["GET /api/v1/binary/{md5}"](md5="0" * 32, fails=True)
    client["GET /api/v1/process/host/count"](name="md5", md5="0" * 32)


def test_sensors(client: DocumentClient) -> None:
    for one in client["GET /api/v1/sensor"]():
        where = {"sensor_id": one["id"]}
        assert client["GET /api/v1/sensor/{sensor_id}"](**where)["id"] == one["id"]
        for part in ("queued", "activity", "resourcestatus", "enrolment"):
            client[f"GET /api/v1/sensor/{{sensor_id}}/{part}"](**where)
        client["PUT /api/v1/sensor/{sensor_id}"]({"notes": "seen"}, **where)
    client["GET /api/v2/sensor"](rows=1)
    client["GET /api/v1/sensor/statistics"]()
    client["GET /api/v1/completeness"](**{"from": "-24h"})
    client["GET /api/v1/completeness"](fails=True)
    client["GET /api/v1/completeness/certificate"](**{"from": "-1h"}, hostname="api-host")
    client["GET /api/v1/sensor/{sensor_id}"](sensor_id=10**6, fails=True)
    known = {"alias": "openapi-alias", "hostname": "api-host.corp.example"}
    client["POST /api/v1/hostalias"](known)
    assert client["GET /api/v1/hostalias"]()
    client["DELETE /api/v1/hostalias/{alias}"](alias="openapi-alias")


@pytest.mark.parametrize("base", ["/api/group", "/api/v1/group", "/api/v3/group"])
def test_groups(client: DocumentClient, base: str) -> None:
    options = {
        "name": f"openapi {base}",
        "isolation_exclusions": [{"name": "x", "ip_address": "10.1.2.3"}],
        "event_exclusions": [{"eventsToIgnore": ["netconn"], "paths": ["/x"]}],
        "tamper_level": 3,
    }
    made = client[f"POST {base}"](options)
    where = {"group_id": made["id"]}
    client[f"PUT {base}/{{group_id}}"](made | {"tamper_level": 4}, **where)
    assert [one["id"] for one in client[f"GET {base}/{{group_id}}"](**where)] == [made["id"]]
    assert client[f"GET {base}"]()
    assert client[f"GET {base}/{{group_id}}/datasharing"](**where) == []
    client[f"DELETE {base}/{{group_id}}"](**where)
    client[f"DELETE {base}/{{group_id}}"](**where, fails=True)


def test_sites(client: DocumentClient) -> None:
    made = client["POST /api/site"]({"name": "openapi"})
    client["PUT /api/site/{site_id}"]({"name": "openapi 2"}, site_id=made["id"])
    assert client["GET /api/site/{site_id}"](site_id=made["id"])[0]["name"] == "openapi 2"
    client["DELETE /api/site/{site_id}"](site_id=made["id"])


def test_bans(client: DocumentClient) -> None:
    base, md5 = "/api/v1/banning/bannedlist", "ab" * 16
    client[f"POST {base}"]({"md5hash": md5, "text": "x"})
    client[f"POST {base}"]({"md5hash": md5}, fails=True)
    assert client[f"GET {base}"]()
    client[f"PUT {base}/{{md5}}"]({"text": "y"}, md5=md5)
    assert client[f"GET {base}/{{md5}}"](md5=md5)["text"] == "y"
    client[f"DELETE {base}/{{md5}}"](md5=md5)


def test_ingress_filters(client: DocumentClient) -> None:
    base = "/api/v1/ingress_approvedlist"
    wanted = {"name": "x", "path_filters": ["no-such-path"], "global": False, "group_ids": [99]}
    assert client[f"POST {base}"](wanted, dry_run="true")["dry_run"]
    [filter_id] = client[f"POST {base}"]([wanted])
    [other_id] = client[f"POST {base}/legacy"]({"name": "y", "command_line_filters": ["no-such"]})
    assert len(client[f"GET {base}/legacy"]()) == len(client[f"GET {base}"]())
    client[f"PUT {base}"]([{"id": other_id, "enabled": False}])
    for one in (filter_id, other_id):
        client[f"PUT {base}/{{filter_id}}"]({"description": "d"}, filter_id=one)
        assert client[f"GET {base}/{{filter_id}}"](filter_id=one)["description"] == "d"
        client[f"DELETE {base}/{{filter_id}}"](filter_id=one)


def test_partitions(client: DocumentClient) -> None:
    base = "/api/v1/storage/events"
    client[f"POST {base}/new_partition"]()
    name = next(one for one in client[f"GET {base}/partition"]() if one != "writer")
    client[f"POST {base}/{{partition_name}}/unmount"](partition_name=name)
    assert client[f"GET {base}/partition"]()[name]["status"] == "cold"
    client[f"POST {base}/{{partition_name}}/mount"](partition_name=name)
    client[f"DELETE {base}/{{partition_name}}"](partition_name="writer", fails=True)


def test_the_server_itself(client: DocumentClient) -> None:
    client["GET /api/info"]()
    client["GET /healthz"]()
    client["GET /readyz"]()
    client["GET /api/builds"]()
    assert b"vedette" in client["GET /metrics"]()


def test_receipts_of_telemetry(document: dict[str, Any], server: Server) -> None:
    with server.sender() as http:
        sender = DocumentClient(document, http)
        records = story("document.corp.example").records
        receipt = sender["POST /api/v1/ingest"]([*records, {"no": "format"}])
        assert receipt["rejected"] == len(receipt["errors"]) == 1
        sender["POST /api/v1/ingest"]([{"no": "format"}], fails=True)
        lines = b'{"create":{}}\n{"no":"format"}\n'
        assert sender["POST /_bulk"](lines)["errors"]
        sender["POST /_bulk"](b"no json\n", fails=True)
        sender["GET /"]()


def test_a_sensor(document: dict[str, Any], server: Server) -> None:
    body = enrolment_body("openapi-sensor", sending_secret(server))
    with server.client() as http:
        enrol = DocumentClient(document, http)["POST /sensor/v1/enrol"]
        with pytest.raises(UndocumentedError):
            enrol({"host": body["host"]})
        enrol(body | {"secret": "no" * 20}, fails=True)
        made = enrol(body)
    with server.client(Authorization=f"Sensor {made['sensor_id']}:{made['key']}") as http:
        sensor = DocumentClient(document, http)
        now_us = SystemClock().now_us()
        assert sensor["POST /sensor/v1/checkin"]({"clock_us": now_us})["isolate"] is False
        block = lines(session(now_us - 60_000_000))
        sensor["POST /sensor/v1/events"](block, epoch="e1", sequence=1)
        content = b"a program"
        sha256 = hashlib.sha256(content).hexdigest()
        offered = {"files": [{"sha256": sha256, "size": len(content)}]}
        sensor["POST /sensor/v1/binaries/offer"](offered)
        put = sensor["PUT /sensor/v1/binaries/{sha256}"]
        put(content, sha256=sha256, offset=7, fails=True)
        put(content, sha256=sha256, offset=0)


def test_what_the_document_does_not_say_is_found(client: DocumentClient) -> None:
    with pytest.raises(UndocumentedError):
        client["GET /api/v1/process"](no_such_parameter=1)
    with pytest.raises(UndocumentedError):
        client["POST /api/v1/process"]()
    with pytest.raises(UndocumentedError):
        client["POST /api/v1/process"]({"q": 7})

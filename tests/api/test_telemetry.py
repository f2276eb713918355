"""Telemetry in: `_bulk` and `/api/v1/ingest`, good and bad bodies
(docs/telemetry-formats.md#protocols)."""

import gzip
import json
import socket
import ssl
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
import zstandard

from tests.support.served import Server, start_server, wait_for
from tests.support.sysmon import story
from vedette.web.http.bodies.telemetry_request import RECORDS_ANSWERED_ON_LOOP_MAX

NDJSON = {"Content-Type": "application/x-ndjson"}


def lines(records: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def bulk(records: list[dict[str, Any]], verb: str = "create") -> bytes:
    return b"".join(
        json.dumps({verb: {"_index": "x"}}).encode() + b"\n" + json.dumps(one).encode() + b"\n"
        for one in records
    )


FORMS: dict[str, Callable[[list[dict[str, Any]]], bytes]] = {
    "array": lambda records: json.dumps(records).encode(),
    "indented array": lambda records: json.dumps(records, indent=2).encode(),
    "lines": lines,
    "one after the other": lambda records: lines(records).replace(b"\n", b""),
}
ENCODINGS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "zstd": zstandard.compress,
}


@pytest.mark.parametrize("form", FORMS)
def test_records_are_taken_in_every_form(sender: httpx.Client, form: str) -> None:
    records = story(f"form-{form.replace(' ', '-')}.example").records
    answer = sender.post("/api/v1/ingest", content=FORMS[form](records))
    assert answer.status_code == 200, answer.text
    body = answer.json()
    assert (body["read"], body["stored"], body["errors"]) == (len(records), len(records), [])


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_bodies_may_be_compressed(sender: httpx.Client, encoding: str) -> None:
    records = story(f"{encoding}.example").records
    content = ENCODINGS[encoding](lines(records))
    answer = sender.post("/api/v1/ingest", content=content, headers={"Content-Encoding": encoding})
    assert answer.json()["stored"] == len(records)
    answer = sender.post(
        "/_bulk", content=ENCODINGS[encoding](bulk(records)), headers={"Content-Encoding": encoding}
    )
    assert [item["create"]["status"] for item in answer.json()["items"]] == [200] * len(records)


def test_a_bad_record_is_reported_by_position_and_costs_only_itself(sender: httpx.Client) -> None:
    records = story("one-bad.example").records
    content = lines(records[:2]) + b'{"broken": \n' + lines(records[2:])
    body = sender.post("/api/v1/ingest", content=content).json()
    assert (body["stored"], body["rejected"]) == (len(records), 1)
    (error,) = body["errors"]
    assert error["position"] == 2
    assert error["reason"]
    assert error["message"]


def test_the_tally_counts_by_channel_event_and_outcome(sender: httpx.Client) -> None:
    records = story("tally.example").records
    tally = sender.post("/api/v1/ingest", content=lines(records)).json()["tally"]
    assert ["Microsoft-Windows-Sysmon/Operational", 1, "events", 3] in tally


def test_a_repeated_request_is_stored_once(sender: httpx.Client) -> None:
    content = lines(story("twice.example").records)
    first, second = (sender.post("/api/v1/ingest", content=content).json() for _ in range(2))
    assert (second["stored"], second["duplicate"]) == (0, first["stored"])


@pytest.mark.parametrize("content", [b"", b"  \n ", b"[]"])
def test_a_body_without_records_is_400(sender: httpx.Client, content: bytes) -> None:
    answer = sender.post("/api/v1/ingest", content=content)
    assert (answer.status_code, answer.json()["reason"]) == (400, "empty_body")


def test_a_request_of_which_nothing_can_be_taken_is_400(sender: httpx.Client) -> None:
    answer = sender.post("/api/v1/ingest", content=b'{"a":1}\n\xff\xfe\n{"b": NaN}\n')
    body = answer.json()
    assert (answer.status_code, body["reason"], body["read"]) == (400, "nothing_taken", 3)
    assert [error["position"] for error in body["errors"]] == [0, 1, 2]


MANY = 3 * RECORDS_ANSWERED_ON_LOOP_MAX


def test_many_outcomes_are_answered_in_the_order_of_the_records(sender: httpx.Client) -> None:
    good = story("many-outcomes.example").records
    at = {MANY // 3: good[0], MANY - 1: good[1]}
    refused: list[dict[str, Any]] = [{"a": number % 2} for number in range(MANY)]
    records = [at.get(number, one) for number, one in enumerate(refused)]
    items = sender.post("/_bulk", content=bulk(records)).json()["items"]
    assert [item["create"]["status"] for item in items] == [
        201 if number in at else 400 for number in range(MANY)
    ]
    assert all("error" in item["create"] for number, item in enumerate(items) if number not in at)
    body = sender.post("/api/v1/ingest", content=lines(records)).json()
    assert (body["read"], body["rejected"], body["duplicate"]) == (MANY, MANY - 2, 2)
    assert [error["position"] for error in body["errors"]] == [
        number for number in range(MANY) if number not in at
    ]


@pytest.mark.parametrize("path", ["/_bulk", "/api/v1/ingest"])
@pytest.mark.parametrize(
    ("encoding", "content", "reason"),
    [
        ("gzip", b"not gzip", "bad_compression"),
        ("gzip", gzip.compress(b'{"a":1}', mtime=0)[:-9], "bad_compression"),
        ("br", b"x", "bad_encoding"),
    ],
)
def test_damaged_compression_is_400(
    sender: httpx.Client, path: str, encoding: str, content: bytes, reason: str
) -> None:
    answer = sender.post(path, content=content, headers={"Content-Encoding": encoding})
    assert (answer.status_code, answer.json()["reason"]) == (400, reason)


@pytest.mark.parametrize("method", ["POST", "PUT"])
@pytest.mark.parametrize("path", ["/_bulk", "/winlogbeat-8/_bulk?pipeline=x"])
def test_bulk_is_served_under_all_its_names(sender: httpx.Client, method: str, path: str) -> None:
    name = f"bulk-{method}-{len(path)}.example".lower()
    records = story(name).records
    answer = sender.request(method, path, content=bulk(records), headers=NDJSON)
    body = answer.json()
    assert answer.headers["x-elastic-product"] == "Elasticsearch"
    assert body["errors"] is False
    assert [item["create"]["status"] for item in body["items"]] == [201] * len(records)


def test_actions_that_are_not_served_are_refused_one_by_one(sender: httpx.Client) -> None:
    (record, *_) = story("actions.example").records
    content = (
        b'{"delete":{"_index":"x","_id":"1"}}\n'
        + bulk([record], "index")
        + b'{"update":{"_index":"x","_id":"1"}}\n{"doc":{}}\n'
    )
    body = sender.post("/_bulk", content=content, headers=NDJSON).json()
    statuses = [next(iter(item.items())) for item in body["items"]]
    assert [(verb, item["status"]) for verb, item in statuses] == [
        ("delete", 400),
        ("index", 201),
        ("update", 400),
    ]
    assert body["errors"] is True


@pytest.mark.parametrize("content", [b"", b"\n", b'{"create":{}}', b'nonsense\n{"a":1}\n'])
def test_a_bulk_body_that_cannot_be_split_is_400(sender: httpx.Client, content: bytes) -> None:
    answer = sender.post("/_bulk", content=content, headers=NDJSON)
    assert answer.status_code == 400
    assert answer.json()["error"]["reason"] == answer.json()["message"]
    assert answer.headers["x-elastic-product"] == "Elasticsearch"


def test_a_part_of_a_file_is_known_again_however_it_is_cut(server: Server) -> None:
    """Records without an id of their own, imported twice from the same file."""
    records = [
        {
            "ID": f"1700000000.{n:03}:{n}",
            "NODE": "import.example",
            "SYSCALL": {
                "syscall": 59,
                "SYSCALL": "execve",
                "success": "yes",
                "pid": 500 + n,
                "ppid": 1,
                "uid": 0,
                "exe": "/bin/true",
                "comm": "true",
            },
        }
        for n in range(3)
    ]
    headers = {"X-Vedette-Source": f"{'ab' * 32}:1"}
    with server.analyst() as client:
        first = client.post("/api/v1/ingest", content=lines(records), headers=headers).json()
        second = client.post(
            "/api/v1/ingest", content=json.dumps(records).encode(), headers=headers
        ).json()
    assert first["stored"] == 3
    assert (second["stored"], second["duplicate"]) == (0, 3)


def test_a_source_header_that_is_none_is_400(sender: httpx.Client) -> None:
    answer = sender.post("/api/v1/ingest", content=b"{}", headers={"X-Vedette-Source": "x"})
    assert answer.status_code == 400


SETUP = [
    ("GET", "/", 200),
    ("GET", "/_license", 200),
    ("GET", "/_xpack", 200),
    ("GET", "/_cluster/health", 200),
    ("HEAD", "/_ilm/policy/winlogbeat", 200),
    ("PUT", "/_ilm/policy/winlogbeat", 200),
    ("GET", "/_index_template/winlogbeat", 200),
    ("PUT", "/_index_template/winlogbeat", 200),
    ("PUT", "/_template/winlogbeat", 200),
    ("PUT", "/_ingest/pipeline/winlogbeat-sysmon", 200),
    ("PUT", "/_data_stream/winlogbeat", 200),
    ("GET", "/_cat/health", 200),
    ("HEAD", "/winlogbeat-9", 200),
    ("PUT", "/winlogbeat-9", 200),
]


@pytest.mark.parametrize(("method", "path", "status"), SETUP)
def test_set_up_calls_of_senders_are_answered(
    sender: httpx.Client, method: str, path: str, status: int
) -> None:
    answer = sender.request(method, path, content=b"{}" if method == "PUT" else b"")
    assert answer.status_code == status
    assert answer.headers["x-elastic-product"] == "Elasticsearch"


def test_the_handshake_names_a_version_that_senders_accept(sender: httpx.Client) -> None:
    assert int(sender.get("/").json()["version"]["number"].split(".")[0]) >= 9
    assert sender.get("/_license").json()["license"]["status"] == "active"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that takes bodies of 2 kB, 8 kB when inflated."""
    yield from start_server(
        tmp_path_factory.mktemp("small"),
        "--set",
        "body_bytes_max=2048",
        "--set",
        "body_inflated_bytes_max=8192",
    )


@pytest.mark.parametrize("path", ["/_bulk", "/api/v1/ingest"])
@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        (b"x" * 2049, ""),
        (gzip.compress(b"x" * 9_000, mtime=0), "gzip"),
        (zstandard.compress(b"x" * 9_000), "zstd"),
    ],
)
def test_a_body_over_a_limit_is_413(
    small: Server, path: str, content: bytes, encoding: str
) -> None:
    headers = {"Content-Encoding": encoding} if encoding else {}
    with small.sender() as client:
        answer = client.post(path, content=content, headers=headers)
    assert (answer.status_code, answer.json()["reason"]) == (413, "too_large")


@pytest.mark.parametrize("path", ["/_bulk", "/api/v1/ingest"])
def test_a_body_that_does_not_say_its_size_is_413_over_the_limit(small: Server, path: str) -> None:
    pieces = (b"x" * 512 for _ in range(100))
    with small.sender() as client:
        answer = client.post(path, content=pieces)
    assert (answer.status_code, answer.json()["reason"]) == (413, "too_large")


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server whose queue holds two stories, and which commits twice a second."""
    yield from start_server(
        tmp_path_factory.mktemp("narrow"),
        "--set",
        "queue_bytes_max=12000",
        "--set",
        "commit_bytes_max=12000",
        "--set",
        "commit_wait_ms=500",
    )


@pytest.mark.parametrize("path", ["/_bulk", "/api/v1/ingest"])
def test_senders_that_find_the_queue_full_are_asked_to_come_back(narrow: Server, path: str) -> None:
    tales = [story(f"full-{path.strip('/_').replace('/', '-')}-{n}.example") for n in range(6)]
    content = [bulk(tale.records) if path == "/_bulk" else lines(tale.records) for tale in tales]
    with narrow.sender() as client, ThreadPoolExecutor(len(tales)) as threads:
        answers = list(threads.map(lambda body: client.post(path, content=body), content))
        statuses = sorted(answer.status_code for answer in answers)
        assert (statuses[0], statuses[-1]) == (200, 429)
        for answer, body in zip(answers, content, strict=True):
            if answer.status_code == 429:
                assert (answer.json()["reason"], answer.headers["retry-after"]) == ("busy", "2")
                assert client.post(path, content=body).status_code == 200


def test_a_sender_that_hangs_up_in_its_body_is_no_failure(server: Server) -> None:
    address = urlsplit(server.url)
    context = ssl.create_default_context(cafile=str(server.certificate))
    with (
        socket.create_connection((address.hostname, address.port)) as plain,
        context.wrap_socket(plain, server_hostname=address.hostname) as link,
    ):
        link.sendall(
            b"POST /hung-up/_bulk HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n"
            b"Authorization: Bearer " + server.ingest_token.encode() + b"\r\n\r\n{"
        )

    def logged() -> list[int]:
        lines_of_log = (server.data / "server.log").read_text().splitlines()
        return [json.loads(line)["status"] for line in lines_of_log if "/hung-up/" in line]

    assert wait_for(logged, [499]) == [499]


@pytest.mark.parametrize("path", ["/nothing", "/winlogbeat-9"])
def test_reading_an_unknown_path_is_404_for_senders_too(sender: httpx.Client, path: str) -> None:
    """Nobody reads an index here; senders ask with HEAD whether it exists."""
    answer = sender.get(path)
    assert answer.status_code == 404
    assert "docs/http-api.md" in answer.text
    assert sender.head(path).status_code == 200

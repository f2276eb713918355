"""Requests that are complete and hostile: bodies, names, queries and floods of enrolments."""

import gzip
import itertools
import json
import zlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import httpx

from tests.fault.hostile.target import Attack
from tests.support.sysmon import story

_HERE: Final = Path(__file__).parent
NAMES: Final[list[str]] = json.loads((_HERE / "names.json").read_text())
_MEMBERS: Final = 50_000
_DEPTH: Final = 100_000
_INFLATED: Final = 300 << 20


def queries() -> list[str]:
    """The written queries, and those that are made by repetition."""
    data = json.loads((_HERE / "queries.json").read_text())
    made = [
        one.get("begin", "")
        + "".join(one["repeat"].replace("{n}", str(number)) for number in range(one["times"]))
        + one.get("end", "")
        for one in data["generated"]
    ]
    return [*data["queries"], *made]


Body = tuple[bytes, dict[str, str]]


@cache
def bodies() -> list[Body]:
    """Bodies that cost more than they are long, each with its headers."""
    bomb = gzip.compress(b" " * _INFLATED, 1)
    deep = b"[" * _DEPTH
    objects = b'{"a":' * _DEPTH
    as_gzip = {"Content-Encoding": "gzip"}
    return [
        (bomb, as_gzip),
        (gzip.compress(bomb, 1), as_gzip),
        (zlib.compress(b"[" * _INFLATED, 1), {"Content-Encoding": "deflate"}),
        (gzip.compress(b"{}", mtime=0) * _MEMBERS, as_gzip),
        (gzip.compress(b"{}", mtime=0) + bytes(1 << 20), as_gzip),
        (gzip.compress(b'{"a":1}\n' * 1_000)[:-9], as_gzip),
        (b"\x1f\x8b", as_gzip),
        (b"\x28\xb5\x2f\xfd\xa4\xff\xff\xff\xff\xff\xff\xff\xff", {"Content-Encoding": "zstd"}),
        (b"x", {"Content-Encoding": "gzip, gzip, br, zstd"}),
        (deep, {}),
        (deep + b"]" * _DEPTH, {}),
        (objects, {}),
        (objects + b"1" + b"}" * _DEPTH, {}),
        (b"[" + b"{}," * 200_000 + b"{}]", {}),
        (b'{"a":"' + b"\\u0000" * 100_000 + b'"}', {}),
        (b'{"a":' + b"9" * 100_000 + b"}", {}),
        (b'{"a":1e999999999,"b":-1e999999999,"c":NaN}', {}),
        (b'{"' + b'a":1,"' * 50_000 + b'a":1}', {}),
        (b"<" * 100_000, {}),
        (b"<Event>" * 50_000, {}),
        (b'<!DOCTYPE a [<!ENTITY b "cc"><!ENTITY d "&b;&b;&b;">]><Event>&d;</Event>', {}),
        (b"type=SYSCALL msg=audit(" + b"1" * 100_000, {}),
        (b"\xff\xfe\x00\x00" * 1_000, {}),
        (b"\n" * 500_000, {}),
        (b"", {}),
        (b"null", {}),
        (b"\x00", {}),
    ]


BODY_PATHS: Final = (
    "/api/v1/ingest",
    "/_bulk",
    "/sensor/v1/enrol",
    "/sensor/v1/checkin",
    "/sensor/v1/events?epoch=e&sequence=1",
    "/osquery/enroll",
    "/osquery/log",
    "/osquery/config",
    "/osquery/distributed/read",
    "/osquery/distributed/write",
    "/api/v1/process",
    "/api/v1/binary",
    "/api/v1/banning/blacklist",
    "/api/v1/watchlist",
    "/api/v1/csp-report",
    "/csp/gateway/am/api/auth/token",
    "/api/group",
)


SEARCH_PATHS: Final = ("/api/v1/process", "/api/v1/binary")


def send_bodies(attack: Attack) -> None:
    """Every body to every route that reads one, with and without a credential."""
    target = attack.target
    credentials: list[dict[str, str]] = [
        {},
        {"Authorization": f"Bearer {target.ingest_token}"},
        {"X-Auth-Token": target.token},
        {"X-Auth-Token": "0" * 40},
        {"Authorization": "Sensor 1:guessed"},
    ]
    cases = list(itertools.product(bodies(), BODY_PATHS, credentials))
    attack.random.shuffle(cases)
    with target.client() as client:
        for (content, encoding), path, credential in itertools.cycle(cases):
            if not attack.goes_on():
                return
            try:
                answer = client.post(path, content=content, headers={**encoding, **credential})
            except httpx.HTTPError:
                attack.seen.disconnected("body")
            else:
                attack.seen.answer("body", answer, (path, content[:40], encoding))


def send_queries(attack: Attack) -> None:
    """Every query to every search, also with the token of another group's user."""
    target = attack.target
    tokens = (target.token, target.other_token)
    cases = list(itertools.product(queries(), tokens, SEARCH_PATHS))
    attack.random.shuffle(cases)
    with target.client() as client:
        for query, token, path in itertools.cycle(cases):
            if not attack.goes_on():
                return
            body: dict[str, Any] = {"q": query, "rows": 50, "facet": "true"}
            try:
                answer = client.post(path, json=body, headers={"X-Auth-Token": token}, timeout=3)
            except httpx.HTTPError:
                attack.seen.disconnected("query")  # the attacker has gone: it is cancelled
                continue
            attack.seen.answer("query", answer, query)
            if token == target.other_token and answer.status_code == 200:
                found = answer.json()
                if found["results"] or found["total_results"] or found.get("filtered"):
                    attack.seen.failed(f"another group's hosts are found by {query[:200]!r}")


def _named(name: str, number: int) -> Iterator[dict[str, Any]]:
    for record in story(name or "x").records[:3]:
        record["winlog"]["event_data"] |= {
            "CommandLine": name,
            "Image": f"C:\\{name}",
            "User": name,
        }
        record["winlog"]["record_id"] = number
        yield record


def send_names(attack: Attack) -> None:
    """Names in telemetry, in paths, in parameters, in hosts and in what people make."""
    target = attack.target
    sender = {"Authorization": f"Bearer {target.ingest_token}"}
    person = {"X-Auth-Token": target.token}
    with target.client() as client:
        for number, name in enumerate(itertools.cycle(NAMES)):
            if not attack.goes_on():
                return
            records = json.dumps(list(_named(name, number))).encode()  # surrogates as escapes
            quoted = "".join(f"%{byte:02x}" for byte in name.encode("utf-8", "surrogatepass"))
            asked = (
                ("POST", "/api/v1/ingest", records, sender),
                ("GET", f"/api/v1/process/{quoted}/1", b"", person),
                ("GET", f"/api/v1/process?q={quoted}&facet=true&facet.field={quoted}", b"", person),
                ("GET", f"/api/v1/binary/{quoted}/summary", b"", person),
                ("GET", f"/api/v2/sensor?hostname={quoted}&sort.col={quoted}", b"", person),
                ("GET", f"/{quoted}", b"", person),
                ("GET", f"/static/{quoted}", b"", {}),
                ("POST", "/api/group", json.dumps({"name": name}).encode(), person),
                ("GET", f"/api/v1/query/explain?q={quoted}", b"", person),
            )
            for method, path, content, headers in asked:
                try:
                    answer = client.request(method, path, content=content, headers=headers)
                except (httpx.HTTPError, httpx.InvalidURL):
                    attack.seen.disconnected("name")
                    continue
                attack.seen.answer("name", answer, (method, path))
                if "x-injected" in answer.headers:
                    attack.seen.failed(f"{name!r} writes headers")


def flood_enrolments(attack: Attack) -> None:
    """Sensors and osquery hosts by the hundred, with the group's secret and with guesses."""
    target = attack.target
    with target.client() as client:
        for number in itertools.count():
            if not attack.goes_on():
                return
            secret = target.secret if number % 3 else f"guess-{number}"
            name = attack.random.choice(NAMES) + str(attack.random.randrange(1_000))
            host = {"hostname": name, "machine_id": name, "os_type": "linux", "boot_id": "b"}
            sent: dict[str, Any] = {"secret": secret, "host": host, "sensor_version": "1.0.0"}
            osquery = {"enroll_secret": secret, "host_identifier": name, "host_details": {}}
            for path, body in (("/sensor/v1/enrol", sent), ("/osquery/enroll", osquery)):
                try:
                    answer = client.post(path, content=json.dumps(body).encode())
                except httpx.HTTPError:
                    attack.seen.disconnected("enrolment")
                else:
                    attack.seen.answer("enrolment", answer, (path, name))
                    if secret != target.secret and answer.status_code == 200:
                        attack.seen.failed(f"{path} took the secret {secret}")

"""Reads the bytes that a sensor sends into a record of the binary's contents."""

import hashlib
import io
import os
import time
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from tests.support.pe_file import icon_image, pe_file
from tests.support.program_files import SYSTEM_PROGRAM
from tests.support.sensor import PlayedSensor, enrol, event, secret_of, sending_secret
from tests.support.served import Server, hire, open_group
from vedette import limits
from vedette.clock import SystemClock
from vedette.model.principal import Role

WAIT_S = 60


@pytest.fixture(scope="module")
def client(server: Server) -> Iterator[httpx.Client]:
    with server.client() as made:
        yield made


@pytest.fixture(scope="module")
def sensor(server: Server, client: httpx.Client) -> PlayedSensor:
    return enrol(client, "reading-host.example", sending_secret(server))


def started(sensor: PlayedSensor, path: str, md5: str, sha256: str) -> None:
    now_us = SystemClock().now_us()
    sensor.send(
        [
            event(
                "start",
                now_us,
                now_us % 30_000,
                now_us,
                path=path,
                cmdline="x",
                md5=md5,
                sha256=sha256,
            )
        ]
    )


def sent(sensor: PlayedSensor, content: bytes, path: str) -> str:
    """Runs and sends a program; its MD5."""
    md5, sha256 = hashlib.md5(content).hexdigest(), hashlib.sha256(content).hexdigest()
    started(sensor, path, md5, sha256)
    file = {"sha256": sha256, "md5": md5, "size": len(content), "path": path}
    assert sensor.post("binaries/offer", {"files": [file]}).json()["want"]
    put(sensor, sha256, 0, content)
    return md5


def put(sensor: PlayedSensor, sha256: str, offset: int, piece: bytes) -> None:
    answer = sensor.client.put(
        f"/sensor/v1/binaries/{sha256}",
        params={"offset": str(offset)},
        content=piece,
        headers=sensor.headers,
    )
    assert answer.status_code == 200, answer.text


def described(
    client: httpx.Client, md5: str, is_done: Callable[[dict[str, Any]], object]
) -> dict[str, Any]:
    deadline_s = time.monotonic() + WAIT_S
    while True:
        body: dict[str, Any] = client.get(f"/api/v1/binary/{md5}/summary").json()
        if is_done(body) or time.monotonic() > deadline_s:
            return body
        time.sleep(0.2)


def was_read(body: dict[str, Any]) -> bool:
    return "read_problems" in body


def unique_program(**parts: Any) -> bytes:
    return pe_file(**parts) + os.urandom(64)


def test_a_system_program_becomes_a_described_record(
    analyst: httpx.Client, sensor: PlayedSensor
) -> None:
    content = SYSTEM_PROGRAM.read_bytes() + os.urandom(16)
    md5 = sent(sensor, content, "/usr/bin/true")
    body = described(analyst, md5, was_read)
    assert (body["image_format"], body["is_executable_image"]) == ("elf", True)
    assert body["is_64bit"] is (content[4] == 2)
    assert body["interpreter"].startswith("/lib")
    assert body["orig_mod_len"] == body["copied_mod_len"] == len(content)
    assert {one["name"] for one in body["section_entropy"]} >= {".text"}
    answer = analyst.get(f"/api/v1/binary/{md5}")
    with zipfile.ZipFile(io.BytesIO(answer.content)) as found:
        assert hashlib.md5(found.read("filedata")).hexdigest() == md5
    asked = {"object": f"file copy:{body['md5']}"}
    (entry,) = analyst.get("/api/v1/audit", params=asked).json()["results"]
    assert (entry["action"], entry["author"]) == ("read", "admin")
    queried = analyst.get("/api/v1/binary", params={"q": f"md5:{md5} image_format:elf"}).json()
    assert queried["total_results"] == 1
    assert queried["results"][0]["copied_mod_len"] == len(content)


def test_a_version_resource_is_searched_joined_and_counted(
    analyst: httpx.Client, sensor: PlayedSensor
) -> None:
    word = os.urandom(6).hex()
    content = unique_program(version={"ProductName": f"Suite {word}", "Comments": "mild"})
    md5 = sent(sensor, content, "c:\\suite.exe")
    body = described(analyst, md5, was_read)
    assert (body["product_name"], body["comments"]) == (f"Suite {word}", "mild")
    assert body["product_name_facet"] == body["product_name"]
    assert (body["digsig_result"], body["signed"]) == ("Unsigned", "Unsigned")
    assert body["host_count"] == len(body["endpoint"]) == 1
    asked = {"q": f"product_name:{word}", "facet": "true", "facet.field": "product_name_facet"}
    found = analyst.get("/api/v1/binary", params=asked).json()
    assert [one["md5"] for one in found["results"]] == [md5.upper()]
    assert [one["name"] for one in found["facets"]["product_name_facet"]] == [f"Suite {word}"]
    process = analyst.get("/api/v1/process", params={"q": f"product_name:{word}"}).json()
    assert process["total_results"] == 1


def test_an_icon_is_the_one_of_the_file_or_a_drawing(
    analyst: httpx.Client, sensor: PlayedSensor
) -> None:
    with_icon = sent(sensor, unique_program(icon=icon_image(48, 48)), "c:\\icon.exe")
    without = sent(sensor, unique_program(), "c:\\plain.exe")
    for md5, side in ((with_icon, 48), (without, 32)):
        described(analyst, md5, was_read)
        answer = analyst.get(f"/api/v1/binary/{md5}/icon")
        assert (answer.status_code, answer.headers["content-type"]) == (200, "image/png")
        assert answer.content[16:24] == bytes([0, 0, 0, side, 0, 0, 0, side])
    assert analyst.get(f"/api/v1/binary/{'fe' * 16}/icon").status_code == 404


def test_what_cannot_be_read_has_a_record_with_the_reason(
    analyst: httpx.Client, sensor: PlayedSensor
) -> None:
    md5 = sent(sensor, b"MZ" + os.urandom(3_000), "c:\\broken.exe")
    body = described(analyst, md5, was_read)
    assert body["read_problems"]
    assert body["copied_mod_len"] == 3_002


def test_the_beginning_of_a_large_file_is_served_and_read(
    analyst: httpx.Client, sensor: PlayedSensor
) -> None:
    most = limits.COPIED_FILE_BYTES_MAX
    content = (SYSTEM_PROGRAM.read_bytes() + os.urandom(64)).ljust(most, b"\0")
    md5, sha256 = os.urandom(16).hex(), os.urandom(32).hex()
    started(sensor, "/opt/large", md5, sha256)
    file = {"sha256": sha256, "md5": md5, "size": most + 5_000, "path": "/opt/large"}
    sensor.post("binaries/offer", {"files": [file]})
    for offset in range(0, most, 5 * 2**20):
        put(sensor, sha256, offset, content[offset : offset + 5 * 2**20])
    body = described(analyst, md5, was_read)
    assert (body["copied_mod_len"], body["orig_mod_len"]) == (most, most + 5_000)
    assert body["image_format"] == "elf"
    answer = analyst.get(f"/api/v1/binary/{md5}")
    with zipfile.ZipFile(io.BytesIO(answer.content)) as found:
        assert found.read("filedata") == content


def test_a_copy_of_another_group_is_neither_downloaded_nor_announced(
    server: Server, client: httpx.Client, sensor: PlayedSensor
) -> None:
    """Both groups run the file; only the other one's sensor sent it."""
    content = unique_program()
    md5 = sent(sensor, content, "c:\\both.exe")
    group_id, _ = open_group(server, f"reading-{os.urandom(3).hex()}")
    other = enrol(client, f"own-{os.urandom(3).hex()}.example", secret_of(server, group_id))
    started(other, "c:\\both.exe", md5, hashlib.sha256(content).hexdigest())
    token = hire(server, f"reader-{group_id}", {group_id: Role.VIEWER})
    with server.client(**{"X-Auth-Token": token}) as own:
        body = described(own, md5, was_read)
        assert body["product_name"] == "Sleep Suite"
        assert (body["copied_mod_len"], body["host_count"]) == (0, 1)
        assert own.get(f"/api/v1/binary/{md5}").status_code == 404

"""Files that nobody should trust: each is a record with a reason, and nothing lies elsewhere."""

import hashlib
import io
import os
import zipfile
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.api.test_binary_reading import described, put, sent, started, was_read
from tests.support.pe_file import icon_image, pe_file
from tests.support.sensor import PlayedSensor, enrol, sending_secret
from tests.support.served import Server
from vedette import limits

GB = 2**30


@pytest.fixture(scope="module")
def sensor(server: Server) -> Iterator[PlayedSensor]:
    with server.client() as client:
        yield enrol(client, f"hostile-{os.urandom(4).hex()}.example", sending_secret(server))


def zipped() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("../../etc/cron.d/x", bytes(1_000_000))
        made.writestr("own", os.urandom(16))
    return out.getvalue()


def huge_icon() -> bytes:
    icon = bytearray(icon_image(16, 16))
    icon[4:12] = (30_000).to_bytes(4, "little") * 2
    return pe_file(icon=bytes(icon)) + os.urandom(32)


def cut() -> bytes:
    return pe_file()[:400] + os.urandom(8)


@pytest.mark.parametrize("make", [zipped, cut, huge_icon])
def test_what_cannot_be_read_has_a_reason_and_can_be_downloaded(
    analyst: httpx.Client, sensor: PlayedSensor, make: Any
) -> None:
    content = make()
    md5 = sent(sensor, content, "/opt/../../etc/cron.d/x")
    body = described(analyst, md5, was_read)
    assert body["read_problems"]
    answer = analyst.get(f"/api/v1/binary/{md5}")
    with zipfile.ZipFile(io.BytesIO(answer.content)) as found:
        assert sorted(found.namelist()) == ["filedata", "metadata"]
        assert found.read("filedata") == content


def test_control_characters_of_a_version_resource_are_not_kept(
    analyst: httpx.Client, sensor: PlayedSensor
) -> None:
    word = os.urandom(5).hex()
    name = f"\x1b[31m{word}\x07\u202e\r\nSet-Cookie: x"
    content = pe_file(version={"ProductName": name, "Comments": "\x01\x02"}) + os.urandom(32)
    body = described(analyst, sent(sensor, content, "c:\\esc.exe"), was_read)
    assert word in body["product_name"]
    assert body["product_name"].isprintable()
    assert "comments" not in body


def test_of_two_gigabytes_of_zeros_the_beginning_is_kept_with_a_reason(
    analyst: httpx.Client, sensor: PlayedSensor
) -> None:
    md5, sha256 = os.urandom(16).hex(), os.urandom(32).hex()
    started(sensor, "/opt/zeros", md5, sha256)
    file = {"sha256": sha256, "md5": md5, "size": 2 * GB, "path": "/opt/zeros"}
    assert sensor.post("binaries/offer", {"files": [file]}).json()["want"]
    step = 5 * 2**20
    for offset in range(0, limits.COPIED_FILE_BYTES_MAX, step):
        put(sensor, sha256, offset, bytes(step))
    body = described(analyst, md5, was_read)
    assert body["read_problems"] == ["file: neither a PE, an ELF nor a Mach-O file"]
    assert (body["orig_mod_len"], body["copied_mod_len"]) == (2 * GB, limits.COPIED_FILE_BYTES_MAX)


def test_bytes_of_another_hash_are_refused_and_leave_nothing(
    server: Server, sensor: PlayedSensor
) -> None:
    content = os.urandom(3_000)
    sha256 = hashlib.sha256(content).hexdigest()
    file = {"sha256": sha256, "md5": "", "size": len(content), "path": "/opt/forged"}
    sensor.post("binaries/offer", {"files": [file]})
    answer = sensor.client.put(
        f"/sensor/v1/binaries/{sha256}", content=content[::-1], headers=sensor.headers
    )
    assert (answer.status_code, answer.json()["reason"]) == (400, "hash_mismatch")
    left = [path for path in server.data.rglob(f"*{sha256[2:]}*") if path.is_file()]
    assert left == []


def test_a_file_that_is_added_lies_in_the_store_under_its_hash_alone(
    server: Server, analyst: httpx.Client
) -> None:
    content, mark = os.urandom(500), os.urandom(6).hex()
    name = f"../../../{mark}"
    answer = analyst.post("/api/v1/binary/file", params={"name": name}, content=content)
    assert answer.status_code == 200, answer.text
    folders = [server.data, *list(server.data.parents)[:3]]
    paths = [*server.data.rglob("*"), *(path for folder in folders for path in folder.iterdir())]
    assert [path for path in paths if mark in path.name] == []
    for bad in ("x\n", "\x00", "n" * 2_000):
        refused = analyst.post("/api/v1/binary/file", params={"name": bad}, content=content)
        assert refused.status_code == 400
    assert analyst.post("/api/v1/binary/file", content=b"").status_code == 400
    large = bytes(limits.COPIED_FILE_BYTES_MAX + 1)
    assert analyst.post("/api/v1/binary/file", content=large).status_code == 413


def test_what_a_host_runs_is_an_executable_image_before_its_bytes_are_here(
    analyst: httpx.Client, sensor: PlayedSensor
) -> None:
    md5, sha256 = os.urandom(16).hex(), os.urandom(32).hex()
    started(sensor, "/opt/ran", md5, sha256)
    queried = {"q": f"md5:{md5} is_executable_image:true"}
    assert analyst.get("/api/v1/binary", params=queried).json()["total_results"] == 1

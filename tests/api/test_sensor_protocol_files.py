"""Copies of programs: offered, sent in pieces, checked, kept (docs/sensor-files.md)."""

import base64
import gzip
import hashlib
import io
import json
import os
import zipfile
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from tests.support.sensor import (
    PlayedSensor,
    enrol,
    enrolment_body,
    event,
    secret_of,
    sending_group,
    sending_secret,
)
from tests.support.served import Server, blobs_of, hire, state_of
from vedette import limits
from vedette.blobs.blob_store import BlobKey, open_verified
from vedette.clock import SystemClock
from vedette.model.principal import Role
from vedette.respond.binary_copies import COPIED_FILES_ARRIVING
from vedette.state.sensors import sensor_packages
from vedette.state.sensors.sensor_packages import Package


@pytest.fixture(scope="module")
def client(server: Server) -> Iterator[httpx.Client]:
    with server.client() as made:
        yield made


@pytest.fixture
def sensor(server: Server, client: httpx.Client, request: pytest.FixtureRequest) -> PlayedSensor:
    name = request.node.name.replace("_", "-").replace("[", "-").replace("]", "").lower()[:60]
    return enrol(client, f"{name}.example", sending_secret(server))


def described(content: bytes, **changes: Any) -> dict[str, Any]:
    return {
        "sha256": hashlib.sha256(content).hexdigest(),
        "md5": hashlib.md5(content).hexdigest(),
        "size": len(content),
        "path": "/usr/bin/x",
    } | changes


def offer(sensor: PlayedSensor, *files: dict[str, Any]) -> list[dict[str, Any]]:
    answer = sensor.post("binaries/offer", {"files": list(files)})
    assert answer.status_code == 200, answer.text
    return list(answer.json()["want"])


def send(
    sensor: PlayedSensor, sha256: str, offset: int, piece: bytes, **headers: str
) -> httpx.Response:
    asked = {"offset": str(offset), "size": "0"}
    return sensor.client.put(
        f"/sensor/v1/binaries/{sha256}",
        params=asked,
        content=piece,
        headers=sensor.headers | headers,
    )


def test_a_file_arrives_in_pieces_and_is_kept(server: Server, sensor: PlayedSensor) -> None:
    content = os.urandom(3_000)
    file = described(content)
    assert offer(sensor, file) == [{"sha256": file["sha256"], "offset": 0}]
    assert send(sensor, file["sha256"], 0, content[:1_000]).json() == {"received": 1_000}
    assert offer(sensor, file) == [{"sha256": file["sha256"], "offset": 1_000}]
    rest = gzip.compress(content[1_000:])
    answer = send(sensor, file["sha256"], 1_000, rest, **{"Content-Encoding": "gzip"})
    assert answer.json() == {"received": 3_000}
    with open_verified(blobs_of(server), BlobKey("binaries", file["sha256"])) as kept:
        assert kept.read() == content
    assert offer(sensor, file) == []


def test_a_copy_is_downloaded_as_the_zip_that_clients_read(
    analyst: httpx.Client, sensor: PlayedSensor
) -> None:
    content = os.urandom(2_000)
    file = described(content)
    now_us = SystemClock().now_us()
    sensor.send(
        [
            event(
                "start",
                now_us,
                5,
                now_us,
                path="/usr/bin/x",
                cmdline="x",
                md5=file["md5"],
                sha256=file["sha256"],
            ),
        ]
    )
    assert analyst.get(f"/api/v1/binary/{file['md5']}").status_code == 404
    offer(sensor, file)
    send(sensor, file["sha256"], 0, content)
    answer = analyst.get(f"/api/v1/binary/{file['md5'].upper()}")
    assert answer.headers["content-type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(answer.content)) as found:
        assert found.read("filedata") == content
        assert json.loads(found.read("metadata"))["md5"] == file["md5"].upper()


def test_a_piece_in_the_wrong_place_is_409_and_says_the_right_one(sensor: PlayedSensor) -> None:
    file = described(os.urandom(500))
    offer(sensor, file)
    answer = send(sensor, file["sha256"], 100, b"x")
    assert (answer.status_code, answer.json()["received"]) == (409, 0)


def test_a_file_that_is_not_what_was_offered_is_thrown_away(
    server: Server, sensor: PlayedSensor
) -> None:
    content = os.urandom(500)
    file = described(content)
    offer(sensor, file)
    answer = send(sensor, file["sha256"], 0, bytes(500))
    assert (answer.status_code, answer.json()["reason"]) == (400, "hash_mismatch")
    assert blobs_of(server).size(BlobKey("binaries", file["sha256"])) is None
    assert offer(sensor, file) == [{"sha256": file["sha256"], "offset": 0}]


def test_a_wrong_md5_is_a_mismatch(sensor: PlayedSensor) -> None:
    content = os.urandom(50)
    file = described(content, md5="00" * 16)
    offer(sensor, file)
    assert send(sensor, file["sha256"], 0, content).json()["reason"] == "hash_mismatch"


def test_of_a_large_file_the_beginning_is_kept_for_its_sensor_alone(
    server: Server, client: httpx.Client, sensor: PlayedSensor
) -> None:
    sha256 = os.urandom(32).hex()
    file = {"sha256": sha256, "size": limits.COPIED_FILE_BYTES_MAX + 1, "path": "/opt/large"}
    offer(sensor, file)
    offset, step = 0, 5 * 2**20
    while offset < limits.COPIED_FILE_BYTES_MAX:
        offset = send(sensor, sha256, offset, bytes(step)).json()["received"]
    beginning = hashlib.sha256(bytes(limits.COPIED_FILE_BYTES_MAX)).hexdigest()
    assert blobs_of(server).size(BlobKey("binaries", beginning)) == limits.COPIED_FILE_BYTES_MAX
    assert offer(sensor, file) == []
    other = enrol(client, "has-it-too.example", sending_secret(server))
    assert offer(other, file) == [{"sha256": sha256, "offset": 0}]


def test_no_more_is_taken_than_was_offered(sensor: PlayedSensor) -> None:
    file = described(b"short")
    offer(sensor, file)
    assert send(sensor, file["sha256"], 0, b"much longer").status_code == 400


def test_a_sensor_has_few_files_on_their_way(sensor: PlayedSensor) -> None:
    files = [described(os.urandom(10)) for _ in range(40)]
    assert len(offer(sensor, *files)) == COPIED_FILES_ARRIVING


@pytest.mark.parametrize("name", ["ab" * 32, "short", "..%2F..%2Fstate.db", "Z" * 64])
def test_a_file_that_was_not_offered_is_refused(sensor: PlayedSensor, name: str) -> None:
    assert send(sensor, name, 0, b"x").status_code in (400, 404)


def test_an_offer_in_anothers_name_is_403(sensor: PlayedSensor) -> None:
    body = {"sensor_id": sensor.id + 1, "files": []}
    assert sensor.post("binaries/offer", body).status_code == 403


@pytest.mark.parametrize(
    "file", [{}, {"sha256": "x", "size": 1}, {"sha256": "ab" * 32, "size": -1}]
)
def test_an_absurd_offer_is_400(sensor: PlayedSensor, file: dict[str, Any]) -> None:
    assert sensor.post("binaries/offer", {"files": [file]}).status_code == 400


def test_a_copy_is_for_those_who_see_a_sensor_that_sent_it(
    server: Server, client: httpx.Client, analyst: httpx.Client, sensor: PlayedSensor
) -> None:
    """Naming the MD5 of another group's file is not enough: the group's own sensor must send it."""
    content = os.urandom(2_000)
    file = described(content)
    offer(sensor, file)
    assert send(sensor, file["sha256"], 0, content).status_code == 200
    group_id = sending_group(server, "curious about copies", collect_storefiles=True)
    curious = enrol(client, "curious-copies.example", secret_of(server, group_id))
    now_us = SystemClock().now_us()
    hashes = {"md5": file["md5"], "sha256": file["sha256"]}
    curious.send([event("start", now_us, 5, now_us, path="/usr/bin/x", cmdline="x", **hashes)])
    token = hire(server, "curious-about-copies", {group_id: Role.ADMINISTRATOR})
    path = f"/api/v1/binary/{file['md5']}"
    with server.client(**{"X-Auth-Token": token}) as caller:
        assert caller.get(f"{path}/summary").status_code == 200
        assert caller.get(path).status_code == 404
        assert offer(curious, file) == [{"sha256": file["sha256"], "offset": 0}]
        assert send(curious, file["sha256"], 0, content).status_code == 200
        assert caller.get(path).status_code == 200
        assert offer(curious, file) == []
    assert analyst.get(path).status_code == 200


def test_a_damaged_copy_is_503_with_its_reason_and_no_byte_of_it(
    server: Server, analyst: httpx.Client, sensor: PlayedSensor
) -> None:
    content = os.urandom(2_000)
    file = described(content)
    now_us = SystemClock().now_us()
    hashes = {"md5": file["md5"], "sha256": file["sha256"]}
    sensor.send([event("start", now_us, 5, now_us, path="/usr/bin/d", cmdline="d", **hashes)])
    offer(sensor, file)
    send(sensor, file["sha256"], 0, content)
    blob = blobs_of(server).path(BlobKey("binaries", file["sha256"]))
    blob.write_bytes(b"X" + content[1:])
    answer = analyst.get(f"/api/v1/binary/{file['md5']}")
    assert (answer.status_code, answer.json()["reason"]) == (503, "damaged_blob")
    blob.write_bytes(content)
    assert analyst.get(f"/api/v1/binary/{file['md5']}").status_code == 200


def set_version(server: Server, analyst: httpx.Client, version: str) -> None:
    answer = analyst.put(
        f"/api/v1/group/{sending_group(server)}", json={"sensor_version_linux": version}
    )
    assert answer.status_code == 200


def test_a_registered_package_is_ordered_and_downloaded(
    server: Server, analyst: httpx.Client, sensor: PlayedSensor
) -> None:
    content = os.urandom(2_000)
    sha256 = hashlib.sha256(content).hexdigest()
    with state_of(server) as database:
        blobs_of(server).put(BlobKey("packages", sha256), [content])
        sensor_packages.register(database, Package("linux", "2.0.0", sha256, len(content)))
        for version, is_ordered in (("Manual", False), ("1.9.0", False), ("2.0.0", True)):
            set_version(server, analyst, version)
            order = sensor.check_in(sensor_version="1.0.0").json()["update"]
            assert (order is not None) is is_ordered
        set_version(server, analyst, "Latest")
        order = sensor.check_in(sensor_version="1.0.0").json()["update"]
        assert (order["version"], order["size"]) == ("2.0.0", 2_000)
        answer = sensor.client.get(order["url_path"], headers=sensor.headers)
        assert answer.content == content
        assert sensor.check_in(sensor_version="2.0.0").json()["update"] is None
        sensor_packages.withdraw(database, "linux")
    assert sensor.check_in(sensor_version="1.0.0").json()["update"] is None
    assert sensor.client.get(order["url_path"], headers=sensor.headers).status_code == 404
    set_version(server, analyst, "Manual")


def test_an_update_is_signed_with_the_key_that_sensors_were_given(
    server: Server, client: httpx.Client, analyst: httpx.Client
) -> None:
    body = enrolment_body("signed-update.example", sending_secret(server))
    made = client.post("/sensor/v1/enrol", json=body).json()
    sensor = PlayedSensor(client, made["sensor_id"], made["key"], "signed-update.example")
    content = os.urandom(500)
    sha256 = hashlib.sha256(content).hexdigest()
    set_version(server, analyst, "Latest")
    with state_of(server) as database:
        sensor_packages.register(database, Package("linux", "3.0.0", sha256, len(content)))
        order = sensor.check_in(sensor_version="1.0.0").json()["update"]
        sensor_packages.withdraw(database, "linux")
    set_version(server, analyst, "Manual")
    raw = base64.b64decode(made["update_public_key"])
    assert len(raw) == 32
    key = Ed25519PublicKey.from_public_bytes(raw)
    signature = base64.b64decode(order["signature"])
    key.verify(signature, b"vedette-sensor-update\n3.0.0\n" + sha256.encode())
    with pytest.raises(InvalidSignature):
        key.verify(signature, b"vedette-sensor-update\n3.0.1\n" + sha256.encode())

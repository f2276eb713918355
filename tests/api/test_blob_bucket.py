"""A server whose blobs lie in a bucket: over HTTPS, with an object store that goes away."""

import hashlib
import os
import time
from pathlib import Path

import pytest

from tests.support.object_store import KEY, SECRET, make_bucket, object_store, slow_store
from tests.support.sensor import enrol, event, sending_secret
from tests.support.served import Server, start_server
from vedette.clock import SystemClock

DEADLINE_S = 2


def flags(folder: Path, url: str, bucket: str) -> list[str]:
    file = folder / "credentials"
    file.write_text(f"[default]\naws_access_key_id={KEY}\naws_secret_access_key={SECRET}\n")
    values = {
        "blob_bucket": bucket,
        "blob_endpoint": url,
        "blob_credentials_file": file,
        "blob_deadline_s": DEADLINE_S,
    }
    return [word for name, value in values.items() for word in ("--set", f"{name}={value}")]


def sent_copy(server: Server, content: bytes) -> tuple[str, int]:
    """MD5 of a copy that a sensor sends, and the status of its last piece."""
    hashes = {
        "md5": hashlib.md5(content).hexdigest(),
        "sha256": hashlib.sha256(content).hexdigest(),
    }
    now_us = SystemClock().now_us()
    with server.client() as client:
        sensor = enrol(client, "host.example", sending_secret(server))
        sensor.send([event("start", now_us, 5, now_us, path="/usr/bin/x", cmdline="x", **hashes)])
        file = {**hashes, "size": len(content), "path": "/usr/bin/x"}
        sensor.post("binaries/offer", {"files": [file]})
        path = f"/sensor/v1/binaries/{hashes['sha256']}?offset=0"
        status = client.put(path, content=content, headers=sensor.headers).status_code
        if status == 503:  # the same piece again: nothing was lost, nothing is stored twice
            answer = client.put(path, content=content, headers=sensor.headers)
            assert answer.status_code == 503
            assert answer.json()["reason"] == "unavailable"
    return hashes["md5"], status


def test_copies_lie_in_the_bucket_and_nothing_secret_in_the_log(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    with object_store() as url:
        words = flags(tmp_path, url, make_bucket(url))
        for server in start_server(data, *words):
            content = os.urandom(2_000)
            md5, status = sent_copy(server, content)
            assert status == 200
            assert not (data / "blobs" / "binaries").exists()
            with server.analyst() as analyst:
                assert analyst.get(f"/api/v1/binary/{md5}").status_code == 200
    assert SECRET not in (data / "server.log").read_text()


@pytest.mark.parametrize("state", ["absent", "slow"])
def test_a_server_starts_and_serves_without_its_object_store(tmp_path: Path, state: str) -> None:
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    with slow_store() as slow:
        url = slow if state == "slow" else "http://127.0.0.1:1"
        for server in start_server(data, *flags(tmp_path, url, "bucket")):
            begun = time.monotonic()
            _, status = sent_copy(server, b"content" * 100)
            assert status == 503
            assert time.monotonic() - begun < 4 * DEADLINE_S
            with server.analyst() as analyst:
                assert analyst.get("/readyz").status_code == 200
                assert analyst.get("/api/v1/process?q=").json()["total_results"] == 1
    assert SECRET not in (data / "server.log").read_text()

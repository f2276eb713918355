"""A program of this machine, from the real Linux sensor to a record that says what is in it, as
root."""

import hashlib
import io
import os
import shutil
import time
import zipfile
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.linux_sensor import (
    TIMEOUT_S,
    as_user,
    missing_privilege,
    running,
    wait_until_found,
)
from tests.support.program_files import SYSTEM_PROGRAM
from tests.support.sensor import secret_of, sending_group
from tests.support.served import Server, wait_for

pytestmark = [
    pytest.mark.skipif(bool(missing_privilege()), reason=missing_privilege() or "-"),
    pytest.mark.xdist_group("audit"),
]
READ_S = 90


def program_in(room: Path) -> tuple[Path, bytes]:
    """A system program that no other machine has: its path and its bytes."""
    path = room / "own-true"
    shutil.copy(SYSTEM_PROGRAM, path)
    with path.open("ab") as file:
        file.write(os.urandom(32))
    path.chmod(0o755)
    return path, path.read_bytes()


def order(client: httpx.Client, md5: str) -> dict[str, Any]:
    answer = client.post(f"/api/v1/binary/{md5}/request")
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def test_an_ordered_program_becomes_a_described_record_that_can_be_downloaded(
    fast_server: Server, tmp_path: Path, room: Path
) -> None:
    group_id = sending_group(fast_server, "Linux files", binary_orders="asked")
    secret = secret_of(fast_server, group_id)
    with (
        running(fast_server, tmp_path / "s", "files.example", mounts=room, group_secret=secret),
        fast_server.analyst() as client,
    ):
        time.sleep(1)
        path, content = program_in(room)
        md5 = hashlib.md5(content).hexdigest()
        as_user(f"{path} of-files; exit 0", room)
        assert wait_until_found(client, f"hostname:files.example path:{path} md5:{md5}")
        assert client.get(f"/api/v1/binary/{md5}").status_code == 404
        order(client, md5)
        stored = wait_for(
            lambda: client.get(f"/api/v1/binary/{md5}/request").json()["state"], "stored", READ_S
        )
        assert stored == "stored"
        answer = client.get(f"/api/v1/binary/{md5}")
        with zipfile.ZipFile(io.BytesIO(answer.content)) as found:
            assert found.read("filedata") == content
        read = wait_for(
            lambda: client.get(f"/api/v1/binary/{md5}/summary").json().get("image_format"),
            "elf",
            READ_S,
        )
        assert read == "elf"
        body = client.get(f"/api/v1/binary/{md5}/summary").json()
        assert body["is_executable_image"] is True
        assert body["orig_mod_len"] == body["copied_mod_len"] == len(content)
        assert body["interpreter"].startswith("/lib")


def test_a_program_that_changed_or_is_none_is_not_sent_and_the_reason_is_told(
    fast_server: Server, tmp_path: Path, room: Path
) -> None:
    group_id = sending_group(fast_server, "Linux files", binary_orders="asked")
    secret = secret_of(fast_server, group_id)
    with (
        running(fast_server, tmp_path / "s", "gone.example", mounts=room, group_secret=secret),
        fast_server.analyst() as client,
    ):
        time.sleep(1)
        path, content = program_in(room)
        md5 = hashlib.md5(content).hexdigest()
        as_user(f"{path} of-gone; exit 0", room)
        assert wait_until_found(client, f"hostname:gone.example path:{path} md5:{md5}")
        path.unlink()
        path.write_bytes(b"something else that nobody may have")
        order(client, md5)

        def request() -> dict[str, Any]:
            return dict(client.get(f"/api/v1/binary/{md5}/request").json())

        assert wait_for(lambda: request()["state"], "failed", TIMEOUT_S) == "failed"
        assert "not there any more" in request()["requests"][0]["message"]
        assert client.get(f"/api/v1/binary/{md5}").status_code == 404

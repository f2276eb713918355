"""Banned programs on a real host: they do not start, and the block is reported. As root."""

import shutil
import subprocess
from hashlib import md5
from pathlib import Path

import httpx
import pytest

from tests.support.linux_sensor import (
    TIMEOUT_S,
    launch,
    missing_privilege,
    running,
    wait_until_found,
    write_settings,
)
from tests.support.served import Server, wait_for

pytestmark = [
    pytest.mark.skipif(bool(missing_privilege()), reason=missing_privilege() or "-"),
    pytest.mark.xdist_group("audit"),
]
_BANS = "/api/v1/banning/blacklist"


def _program_in(folder: Path, mark: bytes) -> Path:
    """A program that nothing else on the machine is."""
    made = folder / f"tool-{mark.decode()}"
    shutil.copy("/bin/true", made)
    with made.open("ab") as file:
        file.write(mark)
    return made


def _starts(path: Path) -> bool:
    try:
        return subprocess.run([path], check=False, timeout=30).returncode == 0
    except PermissionError:
        return False


def _ban(client: httpx.Client, program: Path) -> str:
    """Bans what a program is now; its md5."""
    hashed = md5(program.read_bytes()).hexdigest()
    made = client.post(_BANS, json={"md5hash": hashed, "text": "a test"})
    assert made.status_code == 200, made.text
    return hashed


def _barred(path: Path) -> bool:
    return wait_for(lambda: _starts(path), False, 2 * TIMEOUT_S) is False


def test_a_banned_program_does_not_start_and_the_block_is_found(
    fast_server: Server, client: httpx.Client, tmp_path: Path, room: Path
) -> None:
    host = "bans.example"
    banned, other = _program_in(room, b"banned"), _program_in(room, b"other")
    _ban(client, banned)
    assert _starts(banned)
    with running(fast_server, tmp_path / "s", host, mounts=room):
        assert _barred(banned)
        assert _starts(other)
        assert not _starts(Path(shutil.copy(banned, room / "renamed")))
        assert wait_until_found(client, f"hostname:{host} block_type:2")
    assert _starts(banned)


def test_blocks_are_counted_and_a_ban_that_is_taken_back_ends(
    fast_server: Server, client: httpx.Client, tmp_path: Path, room: Path
) -> None:
    host = "counts.example"
    banned = _program_in(room, b"counted")
    with running(fast_server, tmp_path / "s", host, mounts=room) as sensor:
        sensor.record(client)
        record = f"{_BANS}/{_ban(client, banned)}"
        assert _barred(banned)
        counted = wait_for(
            lambda: int(client.get(record).json()["block_count"]) > 0, True, 2 * TIMEOUT_S
        )
        assert counted
        assert client.get(record).json()["last_block_hostname"] == host
        client.delete(record)
        assert wait_for(lambda: _starts(banned), True, 2 * TIMEOUT_S) is True


def test_bans_are_kept_while_the_server_is_away(
    fast_server: Server, client: httpx.Client, tmp_path: Path, room: Path
) -> None:
    banned, folder = _program_in(room, b"kept"), tmp_path / "s"
    _ban(client, banned)
    with running(fast_server, folder, "kept.example", mounts=room):
        assert _barred(banned)
    write_settings(fast_server, folder, "kept.example", mounts=room, server_url="https://[::1]:9")
    sensor = launch(fast_server, folder, "kept.example")
    try:
        assert _barred(banned)
    finally:
        sensor.stop()


def test_a_program_that_becomes_a_banned_one_is_blocked(
    fast_server: Server, client: httpx.Client, tmp_path: Path, room: Path
) -> None:
    banned, changing = _program_in(room, b"worst"), _program_in(room, b"changes")
    _ban(client, banned)
    with running(fast_server, tmp_path / "s", "becomes.example", mounts=room):
        assert _barred(banned)
        assert all(_starts(changing) for _ in range(3))
        changing.write_bytes(banned.read_bytes())
        assert not _starts(changing)


def test_a_guard_that_hangs_is_replaced_and_bars_nothing(
    fast_server: Server, client: httpx.Client, tmp_path: Path, room: Path
) -> None:
    banned, other = _program_in(room, b"hang"), _program_in(room, b"free")
    _ban(client, banned)
    with running(fast_server, tmp_path / "s", "hangs.example", mounts=room) as sensor:
        assert _barred(banned)
        children = Path(f"/proc/{sensor.process.pid}/task/{sensor.process.pid}/children")
        subprocess.run(["kill", "-STOP", *children.read_text().split()], check=True)
        assert _starts(other), "held up until the guard is killed, then allowed"
        assert _barred(banned)

"""Backups of a running server, by the command, restored on an empty directory."""

import os
import pwd
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from tests.support.commands import Ended, vedette
from tests.support.object_store import KEY, SECRET, make_bucket, object_store
from tests.support.served import Server, start_server, wait_for
from tests.support.sysmon import Host
from tests.support.threads import at_work
from vedette.backup.snapshots import SNAPSHOTS_MAX

TERMS = (
    "process_name:cmd.exe",
    "cmdline:whoami",
    "-process_name:cmd.exe",
    "username:*",
    "parent_name:explorer.exe",
    "path:*system32*",
    "childproc_count:[1 TO *]",
    '"cmd /c whoami"',
    "process_pid:[1000 TO 1100]",
    "start:[2020-01-01T00:00:00 TO *]",
    "last_update:-1d",
    "process_name:cmd*",
    "cmdline:whoami AND NOT process_pid:1003",
    "process_md5:" + f"{1007:032x}",
    "os_type:windows",
)
FORMS: tuple[dict[str, str], ...] = (
    {"sort": "start asc", "facet": "true"},
    {"sort": "process_pid desc", "start": "7", "svc.group": "parent_name"},
)
READS = ("{id}/segment", "{id}/{segment}", "{id}/{segment}/preview", "{id}/tree", "{id}/timeline")
READ_PROCESSES = 4
NO_DATA = re.compile(rb'"(elapsed|\w*_ms)": ?[\d.e-]+')
"""Matches the duration of an answer."""


def command(*words: str | Path) -> Ended:
    return vedette(*words)


def done(*words: str | Path) -> str:
    result = command(*words)
    assert result.returncode == 0, result.stderr
    return result.stdout


def send(client: httpx.Client, records: list[dict[str, Any]]) -> None:
    body = b"\n".join(orjson.dumps(record) for record in records)
    client.post("/api/v1/ingest", content=body).raise_for_status()


def records_of(found: Host, count: int) -> list[dict[str, Any]]:
    parent = found.process(400, r"C:\Windows\explorer.exe")
    children = [
        found.process(1000 + number, r"C:\Windows\System32\cmd.exe", f"cmd /c whoami {number}", 1)
        for number in range(count)
    ]
    return [found.created(child, parent) for child in children]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    for server in start_server(tmp_path_factory.mktemp("backup")):
        with server.sender() as client:
            send(client, records_of(Host("kept", int(time.time()) - 60), 300))
        with server.analyst() as client:
            client.post("/api/user", json={"username": "kept-user"}).raise_for_status()
        yield server


def loaded(server: Server) -> AbstractContextManager[None]:
    """A sender that goes on all the while, of other hosts."""

    def send_on(ends: threading.Event) -> None:
        number = 0
        with server.sender() as client:
            while not ends.is_set():
                number += 1
                send(client, records_of(Host(f"load-{number}", int(time.time()) - 60), 50))

    return at_work([send_on])


def answers(client: httpx.Client) -> list[tuple[str, int, bytes]]:
    """Returns the exact answers to a fixed set of requests about one host."""
    asked = [
        ("/api/v1/process", {"q": f"hostname:kept {term}", "rows": "20", **form})
        for term in TERMS
        for form in FORMS
    ]
    first = {"q": "hostname:kept", "rows": str(READ_PROCESSES), "sort": "start asc"}
    rows = client.get("/api/v1/process", params=first).json()["results"]
    for row in rows:
        ids = {"id": row["id"], "segment": row["segment_id"]}
        asked += [(f"/api/v1/process/{read.format(**ids)}", {}) for read in READS]
    found = [(path, params, client.get(path, params=params)) for path, params in asked]
    return [
        (f"{path} {params}", answer.status_code, NO_DATA.sub(b"", answer.content))
        for path, params, answer in found
    ]


def settled(client: httpx.Client) -> list[tuple[str, int, bytes]]:
    """The answers when the last better metadata has come."""
    last = answers(client)
    while (now := answers(client)) != last:
        last = now
    return now


@contextmanager
def restored(place: Path) -> Iterator[Server]:
    yield from start_server(place)


def test_a_backup_under_load_restores_to_a_server_that_answers_the_same(
    kept: Server, tmp_path: Path
) -> None:
    with kept.analyst() as client:
        before = settled(client)
    assert len(before) == len(TERMS) * len(FORMS) + len(READS) * READ_PROCESSES == 50
    assert [asked for asked, status, _ in before if status != 200] == []
    empty = [asked for asked, _, body in before if re.search(rb'"total_results": ?0\b', body)]
    assert len(empty) < 10, empty
    with loaded(kept):
        time.sleep(1)
        done("backup", "create", tmp_path / "place", "--data", kept.data)
        second = done("backup", "create", tmp_path / "place", "--data", kept.data)
    assert "new" in second
    assert not list((kept.data / "snapshots").iterdir())
    assert done("backup", "list", tmp_path / "place").count("\n") >= 3
    assert "is intact" in done("backup", "verify", tmp_path / "place")
    done("restore", tmp_path / "place", "--data", tmp_path / "copy")
    with restored(tmp_path / "copy") as copy, copy.analyst() as client:
        assert answers(client) == before
        assert client.get("/readyz").json()["ready"] is True
        assert client.get("/api/user/kept-user").json()["username"] == "kept-user"
        with copy.sender() as sender:
            send(sender, records_of(Host("after", int(time.time()) - 60), 3))

        def total() -> int:
            query = {"q": "hostname:after process_name:cmd.exe"}
            return int(client.get("/api/v1/process", params=query).json()["total_results"])

        assert wait_for(total, 3) == 3
    assert "is intact" in done("audit", "verify", "--data", tmp_path / "copy")


def test_what_did_not_change_is_not_copied_again(kept: Server, tmp_path: Path) -> None:
    def new_files() -> int:
        text = done("backup", "create", tmp_path, "--data", kept.data)
        return int(text.split("new ")[1].split()[0])

    few = new_files() / 10  # the state, and what was merged meanwhile
    assert wait_for(lambda: new_files() < few, True)
    assert "removed " in done("backup", "forget", tmp_path, "--keep", "1")
    assert "is intact" in done("backup", "verify", tmp_path)


def test_an_encrypted_backup_tells_nothing_without_its_key(kept: Server, tmp_path: Path) -> None:
    key, other, place = tmp_path / "key", tmp_path / "other", tmp_path / "place"
    done("backup", "key", key)
    done("backup", "key", other)
    assert key.stat().st_mode & 0o777 == 0o600
    done("backup", "create", place, "--key", key, "--data", kept.data)
    stored = b"".join(path.read_bytes() for path in place.rglob("*") if path.is_file())
    for word in (b"kept-user", b"whoami", b"state.db", b"BEGIN PRIVATE KEY"):
        assert word not in stored
    for words in ((), ("--key", other)):
        refused = command("restore", place, *words, "--data", tmp_path / "x")
        assert (refused.returncode, "encrypted" in refused.stderr or "key" in refused.stderr) == (
            2,
            True,
        )
        assert not (tmp_path / "x").exists()
    done("restore", place, "--key", key, "--data", tmp_path / "copy")
    assert (tmp_path / "copy" / "state.db").stat().st_mode & 0o777 == 0o600


def test_a_damaged_backup_is_not_restored(kept: Server, tmp_path: Path) -> None:
    done("backup", "create", tmp_path / "place", "--data", kept.data)
    largest = max((tmp_path / "place" / "backups").rglob("*"), key=lambda path: path.stat().st_size)
    content = bytearray(largest.read_bytes())
    content[len(content) // 2] ^= 1
    largest.write_bytes(content)
    assert "damaged" in command("backup", "verify", tmp_path / "place").stderr
    refused = command("restore", tmp_path / "place", "--data", tmp_path / "copy")
    assert (refused.returncode, (tmp_path / "copy").exists()) == (2, False)
    largest.unlink()
    assert command("backup", "verify", tmp_path / "place").returncode == 2


@pytest.mark.parametrize("after_s", [0.4, 0.9, 1.3])
def test_killed_in_the_middle_neither_server_nor_backups_are_hurt(
    kept: Server, tmp_path: Path, after_s: float
) -> None:
    words = [sys.executable, "-m", "vedette", "backup", "create", str(tmp_path / "place")]
    process = subprocess.Popen([*words, "--data", str(kept.data)], stdout=subprocess.DEVNULL)
    time.sleep(after_s)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    with kept.analyst() as client:
        assert client.get("/readyz").json()["ready"] is True
        for path in (kept.data / "snapshots").glob("*"):
            client.delete(f"/api/v1/backup/snapshot/{path.name}")
    done("backup", "create", tmp_path / "place", "--data", kept.data)
    words = [sys.executable, "-m", "vedette", "restore", str(tmp_path / "place")]
    process = subprocess.Popen([*words, "--data", str(tmp_path / "copy")])
    time.sleep(after_s)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    draft = tmp_path / "copy.restoring"
    assert not (draft.exists() and (tmp_path / "copy").exists())
    if draft.exists():
        refused = command("restore", tmp_path / "place", "--data", tmp_path / "copy")
        assert "interrupted" in refused.stderr


def test_snapshots_of_killed_backups_leave_room_for_the_next(kept: Server, tmp_path: Path) -> None:
    """Also of those that were killed while the server took them."""
    folder = kept.data / "snapshots"
    words = [sys.executable, "-m", "vedette", "backup", "create", str(tmp_path / "place")]
    for _ in range(SNAPSHOTS_MAX + 1):
        known = set(folder.glob("*.reader"))
        process = subprocess.Popen([*words, "--data", str(kept.data)], stdout=subprocess.DEVNULL)
        begun = lambda: not known.issuperset(folder.glob("*.reader"))  # noqa: B023, E731
        assert wait_for(begun, True, 60, pause_max_s=0.01)
        process.kill()
        process.wait()
        assert not wait_for(lambda: any(folder.glob("*.draft")), False, 60, pause_max_s=0.01)
        assert len([one for one in folder.iterdir() if one.is_dir()]) <= 1
    done("backup", "create", tmp_path / "place", "--data", kept.data)
    assert list(folder.iterdir()) == []


def test_what_a_killed_server_left_of_a_snapshot_goes_with_the_next_backup(
    kept: Server, tmp_path: Path
) -> None:
    folder = kept.data / "snapshots"
    shadow = kept.data / "telemetry" / "clickhouse" / "shadow"
    for name in ("0123456789abcdef", "fedcba9876543210"):
        (folder / f"{name}.draft").mkdir(parents=True)
        (shadow / name).mkdir(parents=True)
    (folder / "fedcba9876543210.reader").touch()
    done("backup", "create", tmp_path / "place", "--data", kept.data)
    assert list(folder.iterdir()) == []
    assert [one for one in shadow.iterdir() if one.is_dir()] == []


def audited(data: Path, kind: str) -> list[tuple[str, str, str]]:
    """Who did what with which, the newest first."""
    listed = orjson.loads(done("audit", "list", "--kind", kind, "--json", "--data", data))
    assert all(one["author_kind"] in ("command", "user") for one in listed)
    return [
        (f"{one['author_kind']} {one['author']}", one["action"], one["target"]) for one in listed
    ]


def test_who_backed_up_and_who_restored_is_in_the_audit_log(kept: Server, tmp_path: Path) -> None:
    me, place = f"command {pwd.getpwuid(os.getuid()).pw_name}", str(tmp_path / "place")
    made = done("backup", "create", place, "--data", kept.data).split()[1].rstrip(":")
    backups, snapshots = audited(kept.data, "backup"), audited(kept.data, "snapshot")
    assert backups[:2] == [(me, "create", made), (me, "run", place)]
    assert [(who, what) for who, what, _ in snapshots[:2]] == [(me, "delete"), (me, "create")]
    assert snapshots[0][2] == snapshots[1][2]
    done("restore", place, "--data", tmp_path / "copy")
    listed = orjson.loads(
        done("audit", "list", "--kind", "restore", "--json", "--data", tmp_path / "copy")
    )
    assert [(one["author_kind"], one["action"], one["target"]) for one in listed] == [
        ("command", "run", made)
    ]
    assert (listed[0]["after"]["place"], "made" in listed[0]["after"]) == (place, True)
    # What came after the snapshot is not in it; that it was taken is.
    assert audited(tmp_path / "copy", "snapshot")[0] == snapshots[1]
    assert "is intact" in done("audit", "verify", "--data", tmp_path / "copy")
    done("backup", "forget", place, "--keep", "1", "--data", kept.data)
    assert audited(kept.data, "backup")[0] == (me, "delete", place)


def test_an_older_state_is_backed_up_and_restored_without_an_entry(tmp_path: Path) -> None:
    """The form of its audit log is not known, so nothing is written into it."""
    data = tmp_path / "data"
    data.mkdir()
    for _ in start_server(data):
        pass
    with closing(sqlite3.connect(data / "state.db")) as state:
        state.execute("ALTER TABLE audit RENAME COLUMN author TO who")
    reported = command("backup", "create", tmp_path / "place", "--data", data)
    assert (reported.returncode, "not in its audit log" in reported.stderr) == (0, True)
    reported = command("restore", tmp_path / "place", "--data", tmp_path / "copy")
    assert (reported.returncode, "not in its audit log" in reported.stderr) == (0, True)
    assert (tmp_path / "copy" / "state.db").exists()


def test_a_stopped_server_is_backed_up_as_it_lies(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    for server in start_server(data):
        with server.sender() as client:
            send(client, records_of(Host("kept", int(time.time()) - 60), 20))
    done("backup", "create", tmp_path / "place", "--data", data)
    done("restore", tmp_path / "place", "--data", tmp_path / "copy")
    with restored(tmp_path / "copy") as copy, copy.analyst() as client:
        query = {"q": "hostname:kept process_name:cmd.exe"}
        assert client.get("/api/v1/process", params=query).json()["total_results"] == 20


def test_a_bucket_is_a_place_for_backups(kept: Server, tmp_path: Path) -> None:
    credentials = tmp_path / "credentials"
    credentials.write_text(
        f"[default]\naws_access_key_id = {KEY}\naws_secret_access_key = {SECRET}\n"
    )
    credentials.chmod(0o600)
    with object_store() as url:
        words = (f"s3://{make_bucket(url)}/nightly", "--endpoint", url)
        words += ("--credentials", str(credentials))
        done("backup", "create", *words, "--data", kept.data)
        done("restore", *words, "--data", tmp_path / "copy")
    assert (tmp_path / "copy" / "state.db").exists()


def test_a_directory_in_use_is_not_overwritten(kept: Server, tmp_path: Path) -> None:
    done("backup", "create", tmp_path, "--data", kept.data)
    assert command("restore", tmp_path, "--data", kept.data).returncode == 2
    assert command("backup", "create", tmp_path, "--data", tmp_path / "none").returncode == 2
    assert command("restore", tmp_path, "ffff", "--data", tmp_path / "new").returncode == 2


def test_backups_do_not_lie_in_what_they_are_of(kept: Server) -> None:
    refused = command("backup", "create", kept.data / "backups", "--data", kept.data)
    assert refused.returncode == 2
    assert "in the data directory" in refused.stderr
    assert not (kept.data / "backups").exists()


def test_a_link_out_of_the_data_directory_is_refused_in_place_of_being_left_out(
    kept: Server, tmp_path: Path
) -> None:
    outside, linked = tmp_path / "outside", kept.data / "linked"
    outside.mkdir()
    linked.symlink_to(outside)
    try:
        result = command("backup", "create", tmp_path / "backups", "--data", kept.data)
    finally:
        linked.unlink()
    assert result.returncode != 0
    assert "linked: is a link to a place outside of the data directory" in result.stderr
    assert command("backup", "verify", tmp_path / "backups").returncode != 0, "there is none"

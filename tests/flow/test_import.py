"""`vedette import` without a server: it stores by itself what a server then finds."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.children import children, is_running
from tests.support.commands import Ended, vedette
from tests.support.fleet_log import written
from tests.support.served import Server, start_server, wait_for
from tests.support.unlisted_folder import too_deep
from vedette.store.engine.directory_lock import directory_lock

IMPORT_S = 120
KILLS = 2
LONG = 12_000

Processes = Counter[tuple[str, str, int, str]]
"""Events by host, program, pid and start of the process."""


def command(*words: str | Path) -> list[str]:
    return [sys.executable, "-m", "vedette", "import", *map(str, words)]


def environment() -> dict[str, str]:
    return {name: text for name, text in os.environ.items() if not name.startswith("VEDETTE_")}


def run(*words: str | Path) -> Ended:
    return vedette("import", *words, timeout_s=IMPORT_S)


def imported(*words: str | Path) -> dict[str, Any]:
    """The summary of an import that succeeds."""
    done = run(*words, "--json")
    assert done.returncode == 0, done.stderr[-4_000:]
    assert not done.stderr, done.stderr
    summary: dict[str, Any] = json.loads(done.stdout)
    return summary


@contextmanager
def serving(data: Path) -> Iterator[Server]:
    servers = start_server(data)
    try:
        yield next(servers)
    finally:
        servers.close()


def processes(server: Server) -> Processes:
    """All processes of a server with the number of their events."""
    found: Processes = Counter()
    start = total = 0
    with server.analyst() as client:
        while start <= total:
            query = {"q": "", "rows": 1_000, "start": start, "sort": "start asc"}
            answer = client.get("/api/v1/process", params=query).json()
            for one in answer["results"]:
                key = (one["hostname"], one["process_name"], one["process_pid"], one["start"])
                counts = (n for name, n in one.items() if name.endswith("_count"))
                found[key] += sum(counts)
            start, total = start + 1_000, answer["total_results"]
    return found


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("log") / "events.jsonl", 6_000, 5)


def test_a_server_finds_what_was_imported_and_knows_it_again(log: Path, tmp_path: Path) -> None:
    first = imported(log, "--data", tmp_path)
    assert (first["read"], first["rejected"], first["duplicate"]) == (6_000, 0, 0)
    with serving(tmp_path) as server:
        assert "API token" in (tmp_path / "server.log").read_text(), "the first server is the first"
        found = processes(server)
        assert sum(found.values()) > 4_000
        assert imported(log, "--data", tmp_path)["duplicate"] == 6_000, "through the server"
        assert processes(server) == found
    again = imported(log, "--data", tmp_path)
    assert (again["duplicate"], again["stored"], again["records"]) == (6_000, 0, 0)
    with serving(tmp_path) as server:
        assert processes(server) == found


def test_an_import_stores_what_a_server_would_have_stored(log: Path, tmp_path: Path) -> None:
    alone, served = tmp_path / "alone", tmp_path / "served"
    reported = imported(log, "--data", alone)
    served.mkdir()
    with serving(served) as server:
        assert imported(log, "--data", served) == reported
        wanted = processes(server)
    with serving(alone) as server:
        assert processes(server) == wanted


def test_refused_records_are_reported_with_their_place(tmp_path: Path) -> None:
    lines = written(tmp_path / "log.json", 40, 2).read_bytes().splitlines()
    lines[7] = b'{"cut": '
    lines[30] = lines[30].replace(b'"@timestamp"', b'"@time"').replace(b'"computer_name"', b'"x"')
    (tmp_path / "log.json").write_bytes(b"\n".join(lines))
    summary = imported(tmp_path / "log.json", "--data", tmp_path / "data")
    assert (summary["read"], summary["rejected"]) == (40, 2)
    assert sorted(error["position"] for error in summary["errors"]) == [8, 31]


def test_an_import_says_hosts_time_span_and_what_it_left_out(log: Path, tmp_path: Path) -> None:
    done = imported(log, "--data", tmp_path)
    assert len(done["hosts"]) == 5
    assert "2020" < done["first"] <= done["last"]
    again = run(log, "--data", tmp_path).stdout
    assert "skipped: already stored" in again
    assert f"hosts: {len(done['hosts']):,}: {done['hosts'][0]}" in again
    assert f"from {done['first']} to {done['last']}" in again


def test_an_empty_file_is_reported(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "empty.jsonl").touch()
    for path in (folder, folder / "empty.jsonl"):
        done = run(path, "--data", tmp_path / "data")
        assert done.returncode == 2, done.stderr
        assert "empty.jsonl: empty: the file is empty" in done.stdout
    (folder / "blank.jsonl").write_text("\n\n")
    blank = run(folder / "blank.jsonl", "--data", tmp_path / "data")
    assert (blank.returncode, "blank.jsonl: " in blank.stdout) == (2, True), blank.stdout


LISTED_MEANWHILE = """
import os, threading
moved, listed = threading.Event(), threading.Event()
chdir, scandir = os.chdir, os.scandir
def slow_chdir(path):
    chdir(path)
    if os.path.basename(path) == "chdb":
        moved.set()
        listed.wait(30)
def late_scandir(path="."):
    if threading.current_thread() is not threading.main_thread():
        moved.wait(30)
        if os.fspath(path).endswith("029"):
            listed.set()
    return scandir(path)
os.chdir, os.scandir = slow_chdir, late_scandir
"""
"""Folders of an import are listed just while the engine is loaded."""


def test_a_folder_is_read_whole_by_a_relative_path(tmp_path: Path) -> None:
    """Loading the engine changes the working directory while a thread reads the files."""
    (tmp_path / "python").mkdir()
    (tmp_path / "python" / "sitecustomize.py").write_text(LISTED_MEANWHILE)
    for number in range(600):
        record = {
            "EventID": 5,
            "Channel": "Microsoft-Windows-Sysmon/Operational",
            "Hostname": "desk-7",
            "UtcTime": "2026-11-28 10:00:00.123",
            "ProcessId": 4_000 + number,
            "Image": "C:\\a.exe",
            "ProcessGuid": f"{{7c0e1f2a-1111-6650-0100-{number:012x}}}",
            "RecordNumber": number + 1,
            "SourceModuleType": "im_msvistalog",
            "EventTime": "2026-11-28T10:00:00.123Z",
        }
        folder = tmp_path / "many" / f"{number % 30:03}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number}.json").write_text(json.dumps(record) + "\n")
    done = subprocess.run(
        command("many", "--data", "data", "--json"),
        cwd=tmp_path,
        env=environment() | {"PYTHONPATH": str(tmp_path / "python")},
        capture_output=True,
        timeout=IMPORT_S,
        check=True,
    )
    summary = json.loads(done.stdout)
    assert (summary["on_disk"], summary["files"], summary["read"]) == (600, 600, 600)
    assert not summary["refused_files"]
    assert {one.name for one in tmp_path.iterdir()} == {"many", "data", "python"}


def test_an_import_that_could_not_list_a_folder_ends_with_an_error(
    log: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / log.name).write_bytes(log.read_bytes())
    too_deep(folder)
    done = run(folder, "--data", tmp_path / "data", "--json")
    summary = json.loads(done.stdout)
    assert (done.returncode, summary["on_disk"], summary["files"]) == (4, 1, 1)
    assert [one["reason"] for one in summary["refused_files"]] == ["unreadable"]
    assert "NOT ALL READ: 1 files or directories" in done.stderr.replace("\n", " ")


def test_a_data_directory_in_use_is_refused(log: Path, tmp_path: Path) -> None:
    with directory_lock(tmp_path / "telemetry"):
        refused = run(log, "--data", tmp_path)
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1
    assert f"in use by process {os.getpid()}" in refused.stderr


def test_ingress_filters_hold_for_imports_too(log: Path, tmp_path: Path) -> None:
    with serving(tmp_path) as server, server.analyst() as client:
        rule = {"name": "quiet", "description": "", "path_filters": [r"*\svchost.exe"]}
        client.post("/api/v1/ingress_approvedlist", json=[rule]).raise_for_status()
    assert imported(log, "--data", tmp_path)["filtered"] > 100


@contextmanager
def importing(path: Path, data: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """An import that has begun to store; it is killed at the end of the block."""
    with subprocess.Popen(
        command(path, "--data", data),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=environment(),
    ) as process:
        try:
            assert wait_for(lambda: bool(children("ingest_workers", process.pid)), True)
            yield process
        finally:
            process.kill()


def kill(process: "subprocess.Popen[bytes]") -> None:
    process.kill()


def interrupt(process: "subprocess.Popen[bytes]") -> None:
    process.send_signal(signal.SIGINT)
    process.wait(IMPORT_S)


@pytest.fixture(scope="module")
def long_log(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Processes]:
    """A file that takes a second to import, and what a server has of it when nothing happens."""
    folder = tmp_path_factory.mktemp("long")
    path = written(folder / "long.json", LONG, 5)
    imported(path, "--data", folder / "whole")
    with serving(folder / "whole") as server:
        return path, processes(server)


@pytest.mark.parametrize("end", [kill, interrupt])
def test_an_import_that_was_cut_short_is_completed_by_the_next(
    end: Callable[["subprocess.Popen[bytes]"], None],
    long_log: tuple[Path, Processes],
    tmp_path: Path,
) -> None:
    path, wanted = long_log
    seed = time.time_ns() % 1_000_000
    print(f"seed {seed}")
    dice = random.Random(seed)
    for _ in range(KILLS):
        with importing(path, tmp_path / "cut") as process:
            pids = children("ingest_workers", process.pid)
            time.sleep(dice.uniform(0.0, 1.2))
            end(process)
        assert wait_for(lambda: any(map(is_running, pids)), False) is False  # noqa: B023
    last = imported(path, "--data", tmp_path / "cut")
    assert last["read"] == last["stored"] + last["records"] + last["duplicate"] == LONG
    with serving(tmp_path / "cut") as server:
        assert processes(server) == wanted

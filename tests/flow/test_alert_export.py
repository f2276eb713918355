"""`vedette alerts export` against a real server: months, pages, a killed run, the next run."""

import json
import os
import pty
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.support.commands import Ended, vedette
from tests.support.served import Server, start_server, wait_for
from tests.support.written_detections import write_detections
from vedette.model.findings.detection import Detection, Source

ALERTS = 150
AGES = (70, 5)
"""Days ago at which alerts were made: two searches by month lie between them."""


def detections(age: int) -> list[Detection]:
    return [
        Detection(
            source=Source("rule", f"rule-{age}-{number}"),
            source_name="Rule",
            alert_type="watchlist.hit.query.process",
            subject=f"subject {age} {number}",
            time_us=1_700_000_000_000_000 + number,
            sensor_id=1,
            title="Rule",
            severity=50,
            seq=number + 1,
        )
        for number in range(ALERTS)
    ]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    data = tmp_path_factory.mktemp("exported")
    first = start_server(data)
    next(first)
    first.close()
    for age in AGES:
        write_detections(data, detections(age), age)
    yield from start_server(data)


def command(server: Server, output: Path, *words: str) -> list[str]:
    base = [sys.executable, "-m", "vedette", "alerts", "export", str(output)]
    return [*base, "--data", str(server.data), "--rows", "10", *words]


def run(server: Server, output: Path, *words: str) -> Ended:
    return vedette(*command(server, output, *words)[3:])


def days_ago(days: int) -> str:
    return (datetime.now(UTC) - timedelta(days=days)).isoformat()


def ids(output: Path) -> list[str]:
    return [json.loads(line)["id"] for line in output.read_text().splitlines()]


def test_a_second_run_goes_on_where_the_first_ended(server: Server, tmp_path: Path) -> None:
    output = tmp_path / "alerts.jsonl"
    first = run(server, output, "--from", days_ago(100), "--to", days_ago(40))
    assert first.returncode == 0, first.stderr
    assert len(set(ids(output))) == len(ids(output)) == ALERTS
    assert "━" not in first.stderr
    second = run(server, output)
    assert second.returncode == 0, second.stderr
    assert len(set(ids(output))) == len(ids(output)) == 2 * ALERTS
    assert run(server, output).returncode == 0
    assert len(ids(output)) == 2 * ALERTS


def test_a_killed_run_is_completed_by_the_next(server: Server, tmp_path: Path) -> None:
    output, kept = tmp_path / "alerts.jsonl", tmp_path / "alerts.jsonl.checkpoint"
    process = subprocess.Popen(command(server, output, "--from", days_ago(100)))
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        if kept.exists() and json.loads(kept.read_text())["rows"] >= 20:
            break
        time.sleep(0.002)
    process.kill()
    assert process.wait() == -9, "it ended before it was killed"
    assert 20 <= json.loads(kept.read_text())["rows"] < 2 * ALERTS
    with output.open("ab") as file:
        file.write(b'{"id": "half a li')
    again = run(server, output)
    assert again.returncode == 0, again.stderr
    assert len(set(ids(output))) == len(ids(output)) == 2 * ALERTS


def test_files_of_others_are_not_touched(server: Server, tmp_path: Path) -> None:
    output = tmp_path / "notes.txt"
    output.write_text("mine\n")
    assert run(server, output, "--from", days_ago(9)).returncode == 2
    assert output.read_text() == "mine\n"
    assert run(server, tmp_path / "new", "--from", "yesterday").returncode == 2
    assert run(server, tmp_path / "new").returncode == 2


def test_alerts_are_exported_to_parquet_and_go_on(server: Server, tmp_path: Path) -> None:
    output = tmp_path / "alerts"
    words = ("--format", "parquet")
    first = run(server, output, "--from", days_ago(100), "--to", days_ago(40), *words)
    assert first.returncode == 0, first.stderr
    files = sorted(output.glob("*.parquet"))
    assert len(files) >= ALERTS // 10
    # What a killed run left behind the checkpoint is written anew.
    (output / f"alerts-{len(files) + 1:06d}.parquet").write_bytes(b"PAR1 half")
    assert run(server, output, *words).returncode == 0
    found = [row for file in sorted(output.iterdir()) for row in pq.read_table(file).to_pylist()]
    assert len({row["id"] for row in found}) == len(found) == 2 * ALERTS
    assert {row["severity"] for row in found} == {5}
    files[-1].unlink()
    (output / sorted(path.name for path in output.iterdir())[-1]).unlink()
    assert run(server, output, *words).returncode == 2


def test_two_runs_do_not_share_a_checkpoint(server: Server, tmp_path: Path) -> None:
    output = tmp_path / "alerts.jsonl"
    following = subprocess.Popen(
        command(server, output, "--from", days_ago(100), "--follow"), stderr=subprocess.DEVNULL
    )
    try:
        kept = tmp_path / "alerts.jsonl.checkpoint"
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and following.poll() is None:
            if kept.exists() and json.loads(kept.read_text())["rows"] == 2 * ALERTS:
                break
            time.sleep(0.05)
        # It goes on, and nobody else may.
        assert following.poll() is None
        second = run(server, output)
        assert second.returncode == 2
        assert "another export is running" in second.stderr
    finally:
        following.terminate()
        following.wait(60)
    assert run(server, output).returncode == 0
    assert len(set(ids(output))) == len(ids(output)) == 2 * ALERTS


def test_a_busy_server_is_asked_again(tmp_path: Path) -> None:
    refusals = [(429, "1"), (503, ""), (503, "soon")]
    asked: list[int] = []

    class Busy(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            status, pause = refusals.pop(0) if refusals else (200, "")
            asked.append(status)
            body = b'{"results": []}'
            self.send_response(status)
            if pause:
                self.send_header("Retry-After", pause)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Busy) as receiver:
        thread = threading.Thread(target=receiver.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{receiver.server_port}"
        access = {"url": url, "token": "t", "ingest_token": "", "certificate": "", "pid": 1}
        (tmp_path / "server.json").write_text(json.dumps(access))
        place = Server(url, "t", "", tmp_path, tmp_path)
        done = run(place, tmp_path / "out.jsonl", "--from", days_ago(1))
        receiver.shutdown()
        thread.join()
    assert done.returncode == 0, done.stderr
    assert asked == [429, 503, 503, 200, 200]  # that it begins, and the search


def test_a_server_that_was_restarted_is_found_again(server: Server, tmp_path: Path) -> None:
    """It has another port and another token."""
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # never listens
        found = json.loads((server.data / "server.json").read_text())
        address = f"https://127.0.0.1:{nobody.getsockname()[1]}"
        (tmp_path / "server.json").write_text(json.dumps(found | {"url": address, "token": "old"}))
        place = Server(address, "old", "", tmp_path, tmp_path)
        output = tmp_path / "out.jsonl"
        running = subprocess.Popen(
            command(place, output, "--from", days_ago(100)), stderr=subprocess.PIPE, text=True
        )
        try:
            kept = tmp_path / "out.jsonl.checkpoint"
            assert wait_for(kept.exists, True, 60)
            begun = json.loads(kept.read_text())
            draft = tmp_path / "server.json.draft"
            for token in ("an old one of the same server", found["token"]):
                draft.write_text(json.dumps(found | {"token": token}))
                draft.replace(tmp_path / "server.json")
                if token != found["token"]:
                    time.sleep(1.0)  # it may be asked with it, and answers 401
            _, problem = running.communicate(timeout=120)
        finally:
            running.kill()
            running.wait()
    assert begun["rows"] == 0
    assert running.returncode == 0, problem
    assert len(set(ids(output))) == len(ids(output)) == 2 * ALERTS


def test_on_a_terminal_a_bar_shows_how_far_it_is(server: Server, tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command(server, tmp_path / "alerts.jsonl", "--from", days_ago(100)),
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
    )
    os.close(theirs)
    shown = b""
    with suppress(OSError):  # the other end is closed
        while piece := os.read(ours, 65_536):  # the program waits for whoever reads its terminal
            shown += piece
    os.close(ours)
    assert process.wait(120) == 0
    assert f"{2 * ALERTS:,} alerts" in shown.decode()
    assert "100%" in shown.decode()


def searched(server: Server, **body: Any) -> Any:
    path = "/api/alerts/v7/orgs/VEDETTE/alerts/_search"
    with server.analyst() as client:
        answer = client.post(path, json=body)
    return answer.json() if answer.status_code == 200 else answer.status_code


def test_a_search_without_a_range_is_of_two_weeks(server: Server) -> None:
    assert searched(server, rows=1)["num_found"] == ALERTS
    assert searched(server, rows=1, time_range={"range": "-100d"})["num_found"] == 2 * ALERTS
    older = {"start": days_ago(100), "end": days_ago(20)}
    assert searched(server, rows=1, time_range=older)["num_found"] == ALERTS
    # Further times are criteria, within the range that always applies.
    assert searched(server, criteria={"backend_update_timestamp": older})["num_found"] == 0


def test_pages_have_at_most_ten_thousand_rows_in_an_order_of_several_fields(server: Server) -> None:
    sort = [{"field": "severity", "order": "DESC"}, {"field": "backend_timestamp", "order": "ASC"}]
    every = searched(server, rows=10_000, sort=sort)["results"]
    assert [one["backend_timestamp"] for one in every] == sorted(
        one["backend_timestamp"] for one in every
    )
    pages = [searched(server, rows=40, start=start, sort=sort)["results"] for start in (1, 41, 81)]
    assert [one for page in pages for one in page] == every[:120]
    for wrong in ({"rows": 10_001}, {"rows": -1}, {"start": -1}, {"sort": [{"field": "colour"}]}):
        assert searched(server, **wrong) == 400, wrong


def test_words_that_exclude_each_other_are_refused(server: Server, tmp_path: Path) -> None:
    words = ("--from", days_ago(9))
    assert run(server, tmp_path / "a", *words, "--format", "csv").returncode == 2
    assert run(server, tmp_path / "a", *words, "--follow", "--to", days_ago(1)).returncode == 2
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    for output, file_format in (("file", "parquet"), ("folder", "jsonl")):
        refused = run(server, tmp_path / output, *words, "--format", file_format)
        assert refused.returncode == 2
        assert "this is none" in refused.stderr


def test_words_about_a_server_elsewhere_are_checked(server: Server, tmp_path: Path) -> None:
    token, ca = tmp_path / "token", server.data / "tls" / "cert.pem"
    known = ("--token-file", str(token), "--ca", str(ca))
    for words, reported in (
        (("--server", server.url), "requires"),
        (known, "requires"),
        (("--server", server.url, *known), "No such file"),
        (("--server", "http://vedette.example", *known), "must be https"),
        (("--server", "vedette.example:8443", *known), "must be https"),
        (("--server", "https://", *known), "must be https"),
        (("--server", "ftp://127.0.0.1", *known), "must be https"),
        (("--server", server.url, "--token-file", str(token), "--ca", str(token)), "--ca"),
    ):
        refused = run(server, tmp_path / "out", "--from", days_ago(9), *words)
        assert (refused.returncode, reported in refused.stderr) == (2, True), (
            words,
            refused.stderr,
        )
    for text in ("", "two words", "a\x00b", "é"):
        token.write_text(text)
        refused = run(
            server, tmp_path / "out", "--from", days_ago(9), "--server", server.url, *known
        )
        assert (refused.returncode, "token" in refused.stderr) == (2, True), refused.stderr
    token.write_text("revoked")
    refused = run(server, tmp_path / "out", "--from", days_ago(9), "--server", server.url, *known)
    assert (refused.returncode, "401" in refused.stderr) == (2, True), refused.stderr

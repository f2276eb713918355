"""The head of the audit log at a real syslog receiver: rsyslogd keeps it, and with it a log that
was rewritten on the server's own disk is found."""

import re
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.commands import Ended, vedette
from tests.support.ports import free_port
from tests.support.served import Server, start_server, state_of, wait_for
from vedette.notify.audit_head import send_audit_head
from vedette.state.accounts import audit_trail
from vedette.state.accounts.audit_trail import Head
from vedette.state.db import audit_log

RSYSLOG = shutil.which("rsyslogd", path="/usr/sbin:/sbin:/usr/bin:/bin")

pytestmark = pytest.mark.skipif(RSYSLOG is None, reason="rsyslogd is missing")


@pytest.fixture(scope="module")
def port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def kept(port: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The file in which rsyslogd keeps what it receives."""
    assert RSYSLOG is not None
    folder = tmp_path_factory.mktemp("rsyslog")
    config = folder / "rsyslog.conf"
    config.write_text(f"""
global(workDirectory="{folder}")
module(load="imtcp")
template(name="t" type="string" string="%hostname%|%app-name%|%msg%\\n")
input(type="imtcp" port="{port}" address="127.0.0.1" ruleset="out")
ruleset(name="out") {{ action(type="omfile" file="{folder / "kept.log"}" template="t") }}
""")
    command = [RSYSLOG, "-n", "-f", str(config), "-i", str(folder / "pid")]
    with (folder / "rsyslog.log").open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
    try:
        yield folder / "kept.log"
    finally:
        process.terminate()
        process.wait(20)


@pytest.fixture(scope="module")
def sending(port: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server whose alerts and heads go to that receiver."""
    yield from start_server(
        tmp_path_factory.mktemp("sending"),
        "--set",
        "syslog_host=127.0.0.1",
        "--set",
        f"syslog_port={port}",
        "--set",
        "syslog_transport=tcp",
    )


def verify(server: Server, head: Head) -> Ended:
    words = ["audit", "verify", "--data", str(server.data), "--head", f"{head.number}:{head.hash}"]
    return vedette(*words)


def rewrite(server: Server, target: str) -> None:
    """Acts like an intruder on the machine who can compute the chain of the log: changes the target
    of an entry, and recomputes all hashes from there on."""
    with closing(sqlite3.connect(server.data / "state.db", timeout=60)) as database:
        database.row_factory = sqlite3.Row
        database.execute("BEGIN IMMEDIATE")
        previous = audit_log.FIRST_HASH
        for row in database.execute("SELECT * FROM audit ORDER BY number").fetchall():
            values = dict(row)
            if values["target"] == target:
                values["target"] = "somebody else"
            previous = values["hash"] = audit_log.chained(previous, values)
            database.execute(
                "UPDATE audit SET target = :target, hash = :hash WHERE number = :number", values
            )
        database.execute("UPDATE audit_head SET hash = ?", (previous,))
        database.commit()


def test_a_log_that_was_made_anew_is_found_by_the_head_at_the_receiver(
    sending: Server, kept: Path
) -> None:
    with sending.analyst() as client:
        client.post("/api/user", json={"username": "kept-elsewhere"}).raise_for_status()
    with state_of(sending) as database:
        wanted = audit_trail.head(database)
        assert send_audit_head(database, time.time_ns() // 1_000)

    def received() -> bool:
        return kept.exists() and f"{wanted.number}:{wanted.hash}" in kept.read_text()

    assert wait_for(received, True, 60)
    line = next(one for one in kept.read_text().splitlines() if wanted.hash in one)
    assert "|vedette|" in line
    found = re.search(r"(\d+):([0-9a-f]{64})", line)
    assert found
    head = Head(int(found[1]), found[2])
    whole = verify(sending, head)
    assert whole.returncode == 0, whole.stderr
    rewrite(sending, "kept-elsewhere")
    with state_of(sending) as database:
        assert not audit_trail.verify(database).fault  # whole in itself
    rewritten = verify(sending, head)
    assert rewritten.returncode != 0
    assert "kept elsewhere" in rewritten.stdout + rewritten.stderr

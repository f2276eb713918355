"""The same scripted attack, seen by two senders on one machine: the Linux sensor, and auditd
with laurel and rsyslog. As root."""

import subprocess
from pathlib import Path

import pytest

from tests.support.linux_attack import attack
from tests.support.linux_auditd import auditd, auditd_settings
from tests.support.linux_sensor import (
    TIMEOUT_S,
    as_user,
    audit_state,
    file_system,
    missing_privilege,
    program,
    running,
    wait_until_found,
)
from tests.support.rsyslog import NEEDED as RSYSLOG_NEEDED
from tests.support.rsyslog import rsyslog
from tests.support.served import Server, wait_for

pytestmark = [
    pytest.mark.skipif(bool(missing_privilege()), reason=missing_privilege() or "-"),
    pytest.mark.xdist_group("audit"),
]


def test_every_step_is_found_from_the_sensor(server: Server, tmp_path: Path) -> None:
    program("curl")
    host = "attacked.example"
    with (
        file_system() as home,
        running(server, tmp_path / "s", host, mounts=home),
        attack(home) as scenario,
        server.analyst() as client,
    ):
        done = as_user(scenario.script, home, **scenario.variables)
        assert done.returncode == 0, done.stderr
        steps = {
            step: wait_until_found(client, f"hostname:{host} {query}")
            for step, query in scenario.steps.items()
        }
        assert steps == dict.fromkeys(scenario.steps, True)


@RSYSLOG_NEEDED
def test_every_step_is_found_from_the_sensor_and_from_a_running_auditd(
    server: Server, tmp_path: Path
) -> None:
    for name in ("auditd", "auditctl", "laurel", "rsyslogd", "curl"):
        program(name)
    hosts = "with-auditd.example", "auditd.example"
    with (
        file_system() as home,
        auditd(tmp_path / "auditd", hosts[1]) as events,
        rsyslog(server, tmp_path / "rsyslog", events),
        attack(home) as scenario,
        server.analyst() as client,
    ):
        before = audit_state()
        with running(server, tmp_path / "s", hosts[0], mounts=home) as sensor:
            assert "audit listening" in sensor.log
            assert audit_state() == before
            done = as_user(scenario.script, home, **scenario.variables)
            assert done.returncode == 0, done.stderr
            steps = {
                (host, step): wait_until_found(client, f"hostname:{host} {query}")
                for step, query in scenario.steps.items()
                for host in hosts
            }
        assert steps == dict.fromkeys(steps, True)
        assert audit_state() == before


def test_an_auditd_that_comes_gets_the_audit_system_and_its_end_gives_it_back(
    server: Server, tmp_path: Path
) -> None:
    for name in ("auditd", "auditctl", "laurel"):
        program(name)
    before = audit_state()
    with (
        file_system() as room,
        running(server, tmp_path / "s", "steps-down.example", mounts=room) as sensor,
    ):
        pid = sensor.process.pid
        assert audit_state()[0]["pid"] == pid
        refused = subprocess.run(
            [program("auditd"), "-n", "-c", str(auditd_settings(tmp_path / "first", "first"))],
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        assert refused.returncode != 0
        assert wait_for(audit_state, before, TIMEOUT_S) == before
        with auditd(tmp_path / "second", "second"):
            pass
        assert wait_for(lambda: audit_state()[0]["pid"], pid, TIMEOUT_S) == pid
    assert audit_state() == before

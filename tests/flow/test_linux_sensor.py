"""The Linux sensor against a real server, as root: what it sees, bars and cuts off.

Each test gives the machine's audit system back as it was; one test checks just that. They run
one after the other (`xdist_group`), because the audit system is one for the whole machine.
"""

import subprocess
import time
from pathlib import Path

import pytest

from tests.support.linux_sensor import (
    TIMEOUT_S,
    as_user,
    audit_state,
    found,
    launch,
    missing_privilege,
    running,
    wait_until_found,
    write_settings,
)
from tests.support.served import Server, listening, wait_for
from tests.support.served import launch as launch_server

pytestmark = [
    pytest.mark.skipif(bool(missing_privilege()), reason=missing_privilege() or "-"),
    pytest.mark.xdist_group("audit"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def test_a_program_start_is_found_with_all_its_words(
    fast_server: Server, tmp_path: Path, room: Path
) -> None:
    with (
        running(fast_server, tmp_path / "s", "words.example", mounts=room),
        fast_server.analyst() as client,
    ):
        time.sleep(1)
        as_user("cp /bin/true ./copied; ./copied one 'two words' \"it's\"; exit 0", room)
        query = f'hostname:words.example path:{room}/copied cmdline:"two words"'
        assert wait_until_found(client, query)
        assert wait_until_found(client, f"hostname:words.example filemod:{room}/copied")


def test_what_quiet_programs_do_with_files_is_left_out(
    fast_server: Server, tmp_path: Path, room: Path
) -> None:
    quiet = {"mounts": tmp_path, "quiet_programs": "/usr/bin/touch"}
    with (
        running(fast_server, tmp_path / "s", "quiet.example", **quiet),
        fast_server.analyst() as client,
    ):
        time.sleep(1)
        as_user("touch ./by-touch; cp by-touch by-cp; exit 0", room)
        assert wait_until_found(client, f"hostname:quiet.example filemod:{room}/by-cp")
        assert found(client, "hostname:quiet.example process_name:touch") == 1
        assert found(client, f"hostname:quiet.example filemod:{room}/by-touch") == 0


def test_the_audit_system_is_given_back(fast_server: Server, tmp_path: Path, room: Path) -> None:
    before = audit_state()
    with running(fast_server, tmp_path / "s", "gives-back.example", mounts=room) as sensor:
        taken, rules = audit_state()
        assert (taken["pid"], taken["enabled"]) == (sensor.process.pid, 1)
        assert len(rules) > len(before[1])
    assert audit_state() == before


def test_the_audit_system_is_given_back_after_a_crash(
    fast_server: Server, tmp_path: Path, room: Path
) -> None:
    before = audit_state()
    with running(fast_server, tmp_path / "s", "crashes.example", mounts=room) as sensor:
        sensor.process.kill()
        sensor.process.wait()
        assert audit_state()[1] != before[1]
    with running(fast_server, tmp_path / "s", "crashes.example", mounts=room):
        pass
    assert audit_state() == before


def test_processes_keep_their_key_over_a_restart_of_the_sensor(
    fast_server: Server, tmp_path: Path, room: Path
) -> None:
    with fast_server.analyst() as client:
        with running(fast_server, tmp_path / "s", "restarts.example", mounts=room):
            time.sleep(1)
            lasting = subprocess.Popen(["/bin/sleep", "71234"], cwd=room)
            query = "hostname:restarts.example cmdline:71234"
            time.sleep(4)
        with running(fast_server, tmp_path / "s", "restarts.example", mounts=room):
            assert wait_until_found(client, query)
            time.sleep(4)
        lasting.kill()
        lasting.wait()
        rows = client.get("/api/v1/process", params={"q": query, "rows": 10}).json()["results"]
        assert len({row["id"] for row in rows}) == 1


def test_nothing_is_lost_when_the_server_is_killed(tmp_path: Path, room: Path) -> None:
    data = tmp_path / "server"
    data.mkdir()
    process = launch_server(data, "--set", "checkin_interval_s=5")
    server = listening(data, process)
    port = server.url.rpartition(":")[2]
    number = 0
    with running(server, tmp_path / "s", "survives.example", mounts=room):
        for _ in range(2):
            time.sleep(1)
            as_user(_starts(number, 40), room)
            number += 40
            process.kill()
            process.wait()
            as_user(_starts(number, 40), room)
            number += 40
            process = launch_server(data, "--port", port)
            server = listening(data, process)
        query = "hostname:survives.example cmdline:kept process_name:true"
        with server.analyst() as client:
            assert wait_for(lambda: found(client, query), number, TIMEOUT_S) == number
    process.terminate()
    process.wait(60)


def _starts(first: int, count: int) -> str:
    return f"for n in $(seq {first} {first + count - 1}); do /bin/true kept $n; done; exit 0"


def test_a_sensor_that_was_killed_sends_what_it_kept(
    fast_server: Server, tmp_path: Path, room: Path
) -> None:
    folder = tmp_path / "s"
    folder.mkdir()
    write_settings(fast_server, folder, "keeps.example", mounts=room, server_url="https://[::1]:9")
    sensor = launch(fast_server, folder, "keeps.example")
    wait_for(lambda: audit_state()[0]["pid"], sensor.process.pid, TIMEOUT_S)
    time.sleep(1)
    as_user("/bin/true kept-by-a-killed-sensor; exit 0", room)
    time.sleep(5)
    sensor.process.kill()
    sensor.process.wait()
    with (
        running(fast_server, folder, "keeps.example", mounts=room),
        fast_server.analyst() as client,
    ):
        assert wait_until_found(client, 'hostname:keeps.example cmdline:"kept-by-a-killed-sensor"')

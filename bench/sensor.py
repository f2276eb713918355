"""Measures the cost of the Linux sensor at 500 program starts per second, and checks that it
reports all of them.

Requires root: it takes over the audit system of the machine for half a minute and restores it. Its
rules watch a user that runs nothing else, and an empty file system, so that other activity of the
machine is not measured.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

from bench.figure import Figure, Outcome, Part
from bench.receiver import Receiver

_RATE = 500
_SECONDS = 20
_UID = 51_234
_MARK = "vedette-bench-start"
_SETTLE_S = 6.0
_PROGRAM = "/bin/true"

_GENERATOR = f"""
import os, sys, time
os.setgid({_UID}); os.setuid({_UID})
began, number = time.monotonic(), 0
while number < {_RATE * _SECONDS}:
    due = min({_RATE * _SECONDS}, int((time.monotonic() - began) * {_RATE}))
    while number < due:
        pid = os.posix_spawn({_PROGRAM!r}, ["true", f"{_MARK}-{{number}}"], {{}})
        os.waitpid(pid, 0)
        number += 1
    time.sleep(0.004)
print(time.monotonic() - began)
"""


def run(room: Path) -> Outcome:
    if os.geteuid() != 0:
        return Outcome("left out: needs root", ())
    receiver = Receiver(room, _MARK)
    watched = room / "watched"
    watched.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "none", watched], check=True)
    sensor = _start(room, watched, receiver)
    try:
        time.sleep(_SETTLE_S)
        return _measure(sensor.pid, receiver)
    finally:
        sensor.terminate()
        sensor.wait(30)
        subprocess.run(["umount", "-l", watched], check=False)
        receiver.close()


def _start(room: Path, watched: Path, receiver: Receiver) -> "subprocess.Popen[bytes]":
    settings = room / "sensorsettings.ini"
    settings.write_text(
        f"[sensor]\nserver_url = {receiver.url}\ngroup_secret = bench\n"
        f"ca_pem_file = {receiver.certificate}\ndata_dir = {room / 'data'}\n"
        f"audit_uid = {_UID}\nmounts = {watched}\n"
    )
    command = [sys.executable, "-m", "vedette.sensor", "--settings", str(settings)]
    return subprocess.Popen(command, stderr=subprocess.DEVNULL)


def _measure(pid: int, receiver: Receiver) -> Outcome:
    cpu, began = _cpu_s(pid), time.monotonic()
    done = subprocess.run([sys.executable, "-c", _GENERATOR], capture_output=True, check=True)
    generated_s = float(done.stdout)
    time.sleep(2)
    used_s, wall_s = _cpu_s(pid) - cpu, time.monotonic() - began
    rss = _rss_mb(pid)
    wanted = _RATE * _SECONDS
    deadline = time.monotonic() + 20
    while receiver.marked["start"] < wanted and time.monotonic() < deadline:
        time.sleep(0.5)
    figures = (
        Figure("program starts", wanted / generated_s, "starts/s", at_least=_RATE * 0.95),
        Figure("lost", wanted - receiver.marked["start"], "starts", at_most=0),
        Figure("processor", 100 * used_s / generated_s, "% of a core", at_most=10),
        Figure("resident memory", rss, "MB", at_most=60),
    )
    notes = (
        f"{used_s:.2f} s of processor time in {wall_s:.1f} s",
        f"events received: {dict(receiver.events)}",
        f"health: {receiver.checkins[-1]['health_message'] if receiver.checkins else '-'}",
    )
    return Outcome(f"{wanted:,} starts of {_PROGRAM}", figures, notes)


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _rss_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return 0.0


PART = Part("sensor", run)

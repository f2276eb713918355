"""A sensor as tests play it: enrols, checks in and sends blocks of event format 1."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.support.served import Server, state_of
from vedette.clock import SystemClock
from vedette.record.objects.sensor_group import GroupOptions
from vedette.state.policy import groups
from vedette.state.policy.groups import DEFAULT_GROUP_ID
from vedette.state.sensors import enrolment

Event = dict[str, Any]
BOOT = "6f1d6c2e-8a4b-4c57-9a3e-2b6f0d1c7e55"


def secret_of(server: Server, group_id: int = DEFAULT_GROUP_ID) -> str:
    """The enrolment secret of a group, as its installers get it."""
    with state_of(server) as database:
        return enrolment.current_secret(database, group_id)


def sending_group(server: Server, name: str = "Sends programs", **options: Any) -> int:
    """The group of a name with these options, else one whose sensors send every program; made when
    there is none."""
    with state_of(server) as database:
        known = {one.name: one.id for one in groups.all_groups(database)}
        wanted = GroupOptions(**(options or {"collect_storefiles": True}))
        return known.get(name) or groups.add(database, name, options=wanted).id


def sending_secret(server: Server) -> str:
    """The enrolment secret of a group whose sensors send every program."""
    return secret_of(server, sending_group(server))


@dataclass
class PlayedSensor:
    """One enrolled sensor and its queue."""

    client: httpx.Client
    id: int
    key: str
    hostname: str
    epoch: str = "e1"
    number: int = 0
    said: dict[str, Any] = field(default_factory=dict)

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Sensor {self.id}:{self.key}"}

    def post(self, path: str, body: Any) -> httpx.Response:
        return self.client.post(f"/sensor/v1/{path}", json=body, headers=self.headers)

    def check_in(self, **members: Any) -> httpx.Response:
        return self.post("checkin", {"clock_us": SystemClock().now_us(), **members})

    def obey(self) -> dict[str, Any]:
        """Checks in until what is wanted is done: one round of a sensor's loop."""
        orders: dict[str, Any] = self.check_in(**self.said).json()
        self.said = {"is_isolating": orders["isolate"], "restarted": orders["restart"]}
        if orders["flush_before_us"] is not None:
            self.said["flushed_before_us"] = orders["flush_before_us"]
        return orders

    def send(self, events: Iterable[Event], number: int = 0, **headers: str) -> httpx.Response:
        """The next block of the queue, or that of a number."""
        self.number = number or self.number + 1
        return self.send_raw(lines(events), self.number, **headers)

    def send_raw(self, body: bytes, number: int, **headers: str) -> httpx.Response:
        asked = {"epoch": self.epoch, "sequence": str(number)}
        given = self.headers | headers
        return self.client.post("/sensor/v1/events", params=asked, content=body, headers=given)


def enrolment_body(hostname: str, secret: str, **host: Any) -> dict[str, Any]:
    reported = {"hostname": hostname, "machine_id": "m-1", "os_type": "linux", "boot_id": BOOT}
    return {"secret": secret, "host": reported | host, "sensor_version": "1.0.0"}


def enrol(
    client: httpx.Client, hostname: str, secret: str, previous_key: str = "", **host: Any
) -> PlayedSensor:
    body = enrolment_body(hostname, secret, **host) | {"previous_key": previous_key}
    answer = client.post("/sensor/v1/enrol", json=body)
    assert answer.status_code == 200, answer.text
    body = answer.json()
    return PlayedSensor(client, body["sensor_id"], body["key"], hostname)


def lines(events: Iterable[Event]) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def event(kind: str, time_us: int, pid: int, start_us: int, **members: Any) -> Event:
    """One event of a process."""
    return {
        "vedette_event": 1,
        "type": kind,
        "time_us": time_us,
        "seq": 0,
        "boot": BOOT,
        "proc": {"pid": pid, "start_us": start_us},
        **members,
    }


def session(base_us: int, pid: int = 500) -> list[Event]:
    """A shell that runs a downloader: every type of event once."""
    shell = {"pid": pid, "start_us": base_us}
    child_us = base_us + 1_000_000
    who = {"uid": "1000", "user": "alice", "cwd": "/home/alice"}
    of_shell = {"ppid": pid, "parent_start_us": base_us, "parent_path": "/bin/bash"}

    def second(kind: str, after_us: int, **members: Any) -> Event:
        return event(kind, child_us + after_us, pid + 1, child_us, **members)

    return [
        event(
            "start",
            base_us,
            pid,
            base_us,
            path="/bin/bash",
            cmdline="bash -l",
            ppid=1,
            parent_start_us=base_us - 10**9,
            parent_path="/sbin/init",
            md5="c0" * 16,
            sha256="cd" * 32,
            size=1_000,
            **who,
        ),
        second(
            "start",
            0,
            path="/usr/bin/curl",
            cmdline="curl http://x/y",
            md5="c1" * 16,
            sha256="34" * 32,
            **of_shell,
            **who,
        ),
        second(
            "net",
            100_000,
            direction="out",
            proto=6,
            local_ip="10.0.0.5",
            local_port=40000,
            remote_ip="203.0.113.7",
            remote_port=80,
        ),
        second("file", 200_000, action="create", path="/tmp/y"),
        second("file", 300_000, action="last_write", path="/tmp/y", md5="56" * 16),
        second("file", 400_000, action="rename", path="/tmp/y", to="/tmp/z"),
        second("image", 450_000, path="/lib/libcurl.so", md5="78" * 16),
        second("proc", 500_000, action="ptrace", target={**shell, "path": "/bin/bash"}),
        second(
            "exec", 3_000_000, path="/usr/bin/python3", cmdline="python3 /tmp/z", **of_shell, **who
        ),
        second("file", 3_500_000, action="delete", path="/tmp/z"),
        second(
            "block", 3_600_000, path="/tmp/evil", md5="9a" * 16, cmdline="/tmp/evil", **of_shell
        ),
        second("end", 4_000_000, exit_code=3),
    ]

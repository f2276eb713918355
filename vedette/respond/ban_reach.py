"""Preview of a ban: hosts that have or run the program, its signer, and whether hosts would stop
working without it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from vedette.limits import RUNNING_PROCESS_SEEN_US
from vedette.model.scope import Scope
from vedette.store.engine.client import Engine
from vedette.store.read.binaries import binaries_of, column_of, frequency_of
from vedette.store.read.running_hosts import RunsOn, running

_SYSTEM: Final = frozenset(
    (
        "smss.exe",
        "csrss.exe",
        "wininit.exe",
        "winlogon.exe",
        "services.exe",
        "lsass.exe",
        "svchost.exe",
        "systemd",
        "init",
        "launchd",
        "kernel_task",
        "vedette-sensor",
    )
)
"""Programs without which a host stops working; the last is our own."""

_SYSTEM_FOLDERS: Final = (
    "c:\\windows\\system32\\",
    "/usr/lib/systemd/",
    "/lib/systemd/",
    "/sbin/",
    "/usr/sbin/",
    "/usr/bin/",
    "/usr/local/bin/",
)


@dataclass(frozen=True, slots=True)
class BanReach:
    """Effect of a ban of one program on the hosts of a scope."""

    digest: str
    hosts: int
    """Hosts that have the file."""
    executions: int
    running: Sequence[RunsOn]
    names: Sequence[str]
    """Paths at which it was seen."""
    signature: str
    publisher: str
    protection: str
    """Reason not to ban it; "" for none."""


def ban_reach(engine: Engine, digest: str, scope: Scope, now_us: int) -> BanReach:
    """Returns the effect of banning the program with this hash (lower case). Bans use the MD5; a
    SHA-256 is accepted as well, for programs that hosts report without an MD5."""
    found = binaries_of(engine, [digest], scope)
    row = found[0] if found else {}
    frequency = frequency_of(engine, column_of(digest), digest, scope)
    names = [str(name) for name in row.get("observed_filename", ())]
    return BanReach(
        digest,
        frequency.hosts,
        frequency.executions,
        running(engine, digest, scope, now_us - RUNNING_PROCESS_SEEN_US),
        names,
        str(row.get("digsig_result", "")),
        str(row.get("digsig_publisher", "")),
        protection_of(names),
    )


def protection_of(paths: Sequence[str]) -> str:
    """Returns the reason why a program with these paths is protected; "" if it is not. Hosts report
    the paths, so users can override the protection explicitly."""
    for path in paths:
        lowered = path.lower()
        name = lowered.replace("\\", "/").rpartition("/")[2]
        if name in _SYSTEM and lowered.startswith(_SYSTEM_FOLDERS):
            return f"{path} keeps hosts running"
    return ""

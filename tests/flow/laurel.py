"""Audit events as laurel writes them: one JSON object a line."""

import json
import time
from typing import Any


def execution(
    node: str, serial: int, pid: int, exe: str, arguments: list[str], after_s: float = 0.0
) -> dict[str, Any]:
    """A process that started `after_s` seconds after ten minutes ago."""
    at_s = time.time() - 600 + after_s
    return {
        "ID": f"{at_s:.3f}:{serial}",
        "NODE": node,
        "SYSCALL": {
            "arch": "0xc000003e",
            "syscall": 59,
            "success": "yes",
            "exit": 0,
            "items": 1,
            "pid": pid,
            "ppid": 1,
            "auid": 1000,
            "uid": 1000,
            "euid": 1000,
            "comm": exe.rpartition("/")[2],
            "exe": exe,
            "SYSCALL": "execve",
            "UID": "ann",
            "PPID": {"comm": "systemd", "exe": "/usr/lib/systemd/systemd", "ppid": 0},
        },
        "EXECVE": {"argc": len(arguments), "ARGV": arguments},
        "CWD": {"cwd": "/home/ann"},
        "PATH": [{"item": 0, "name": exe, "nametype": "NORMAL", "mode": "0o100755"}],
        "PROCTITLE": {"ARGV": arguments},
    }


def lines(records: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)

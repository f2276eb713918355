"""Generated binaries as sensors saw them, segments that ran, loaded and wrote them, and queries
about both."""

import random
from collections.abc import Sequence
from typing import Any

from tests.property.lives import PATHS, TEXTS
from vedette.model.columns import BINARY
from vedette.model.event import BinarySeen, Childproc, Filemod, Modload, ProcessEvent
from vedette.model.field import SIGN_RESULTS
from vedette.model.fields import JOIN_SUFFIXES
from vedette.model.scope import Scope
from vedette.store.write.commit import BinaryRow

NOW_US = 1_700_000_000_000_000
DAY_US = 24 * 3600 * 1_000_000

IMAGES: tuple[tuple[str, str], ...] = (
    *((f"{n:02x}" * 16, f"{n:02x}" * 32) for n in range(1, 6)),
    *((f"{n:02x}" * 16, "") for n in range(6, 8)),
    *(("", f"{n:02x}" * 32) for n in range(8, 10)),
)
"""MD5 and SHA-256, each of which may be unknown."""
NEVER_SEEN = (("ff" * 16, "ff" * 32), ("", ""))
SENSORS = (1, 2, 3)


def sighting(draw: random.Random) -> BinaryRow:
    """One of the binaries as one of the sensors saw it: each knows something else."""
    one = draw.choice
    md5, sha256 = one(IMAGES)
    sensor_id = one(SENSORS)
    reported = {
        "digsig_result": one(SIGN_RESULTS),
        "digsig_publisher": one(TEXTS),
        "digsig_sign_time": str(one((0, NOW_US - DAY_US, NOW_US - 90 * DAY_US))),
        "product_name": one(TEXTS),
        "original_filename": one(("Mimikatz.exe", "", "cmd.exe")),
        "comments": one(TEXTS),
        "imphash": one(("cc" * 16, "")),
        "is_executable_image": one(("0", "1")),
        "is_64bit": one(("0", "1")),
        "orig_mod_len": str(one((0, 512, 50_688))),
    }
    values = {name: value for name, value in reported.items() if draw.random() < 0.5}
    at_us = NOW_US - draw.randrange(20 * DAY_US)
    seen = BinarySeen(at_us, md5, sha256, "", one(PATHS), values)
    group = one(("Default Group", "Servers"))
    return BinaryRow(sensor_id, f"ws-{sensor_id}", group, "windows", seen, at_us + 5, 1)


def summed(rows: Sequence[BinaryRow], scope: Scope) -> list[dict[str, Any]]:
    """The binaries of a scope, as the matcher takes them."""
    by_hash: dict[str, list[BinaryRow]] = {}
    for row in rows:
        if scope.allows(row.sensor_id):
            by_hash.setdefault(row.seen.md5 or row.seen.sha256, []).append(row)
    return [_merged(digest, of_hash) for digest, of_hash in by_hash.items()]


def _merged(digest: str, rows: list[BinaryRow]) -> dict[str, Any]:
    found: dict[str, Any] = {"hash": digest}
    for column in BINARY:
        texts = [row.seen.values.get(column.name, "") for row in rows]
        known = texts if column.type == "text" else [int(text or 0) for text in texts]
        found[column.name] = max(known)  # type: ignore[type-var]
    sensors = {row.sensor_id for row in rows}
    return found | {
        "md5": rows[0].seen.md5,
        "sha256": rows[0].seen.sha256,
        "os_type": "windows",
        "first_seen": min(row.seen.time_us for row in rows),
        "last_seen": max(row.seen.time_us for row in rows),
        "added": min(row.committed_us for row in rows),
        "observed_filename": sorted({row.seen.path for row in rows if row.seen.path}),
        "hostname": sorted({row.hostname for row in rows}),
        "group": sorted({max(r.group for r in rows if r.sensor_id == one) for one in sensors}),
        "endpoint": sorted({f"{row.hostname}|{row.sensor_id}" for row in rows}),
        "host_count": len(sensors),
    }


def ran(draw: random.Random, process_id: str) -> tuple[dict[str, Any], list[ProcessEvent]]:
    """Returns metadata and events of a process that ran, loaded, wrote and started images."""
    images = (*IMAGES, *NEVER_SEEN)
    own, parent = draw.choice(images), draw.choice(images)
    values = {
        "process_name": draw.choice(("cmd.exe", "ls")),
        "process_md5": own[0],
        "process_sha256": own[1],
        "parent_md5": parent[0],
        "parent_sha256": parent[1],
        "original_filename": draw.choice(("", "CMD.EXE")),
    }
    events: list[ProcessEvent] = []
    for _ in range(draw.randrange(4)):
        md5, sha256 = draw.choice(images)
        made = (
            Modload(process_id, 1, "m", md5, sha256),
            Filemod(process_id, 1, draw.choice((4, 8)), "f", md5, sha256),
            Childproc(process_id, 1, 1, 0, "x", "c", 7, md5, sha256),
        )
        events.append(draw.choice(made))
    return {name: value for name, value in values.items() if value}, events


_BINARY_VALUES = (
    *(f'digsig_result:"{result}"' for result in SIGN_RESULTS),
    "digsig_result:un*",
    "signed:Signed",
    "digsig_publisher:mimikatz",
    "digsig_sign_time:*",
    "digsig_sign_time:-24h",
    'product_name:"visual studio"',
    "product_name:*",
    "original_filename:mimikatz.exe",
    "original_filename:cmd.exe",
    "imphash:cc*",
    "is_executable_image:true",
    "is_64bit:false",
    "orig_mod_len:[600 TO *]",
    "orig_mod_len:0",
    "copied_mod_len:0",
    "tampered:false",
    "tampered:true",
    "observed_filename:.exe",
    "observed_filename:windows\\*",
    'observed_filename:"c:\\windows"',
    "endpoint:ws-1",
    'endpoint:"ws-2|2"',
    "file_desc:x",
)
_TAGS = (
    "watchlist_4:*",
    "-watchlist_5:-24h",
    "alliance_score_srs:[1 TO *]",
    "alliance_data_srs:r*",
)
_BINARY_ONLY = (
    f"md5:{'01' * 16}",
    "md5:*",
    "-md5:*",
    "sha256:08*",
    "hostname:ws-2",
    "-hostname:WS-1",
    "group:servers",
    "host_count:[2 TO *]",
    "server_added_timestamp:-240h",
    "last_seen:[* TO NOW-5DAYS]",
    "os_type:windows",
    "comments:*",
    "mimikatz",
    "exe",
    "ws-3",
    "signed",
)


def binary_query(draw: random.Random, depth: int = 2) -> str:
    """A random query of binary search."""
    return _nested(draw, depth, lambda: draw.choice((*_BINARY_VALUES, *_BINARY_ONLY, *_TAGS)))


def join_query(draw: random.Random, depth: int = 2) -> str:
    """A random query of process search that asks for binaries."""

    def leaf() -> str:
        if draw.random() < 0.1:
            return "process_name:cmd.exe"
        field, colon, value = draw.choice(_BINARY_VALUES).partition(":")
        suffix = draw.choice(("", *JOIN_SUFFIXES))
        return f"{field}{suffix}{colon}{value}"

    return _nested(draw, depth, leaf)


def _nested(draw: random.Random, depth: int, leaf: Any) -> str:
    if depth == 0 or draw.random() < 0.3:
        return str(leaf())
    parts = [_nested(draw, depth - 1, leaf) for _ in range(draw.randrange(1, 4))]
    joined = draw.choice((" ", " OR ")).join(parts)
    return ("-" if draw.random() < 0.25 else "") + f"({joined})"

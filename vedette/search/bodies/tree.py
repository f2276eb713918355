"""The nodes of a tree on the wire (docs/http-api.md, "The tree of a process").

Every node has the same members, whether the process is there or missing; what is not known is
empty, and what cannot be is null.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from vedette.model.event import ChildKind
from vedette.model.ids import unique_id, unknown_parent_id
from vedette.search.bodies.process import COUNTED, Body, Row, start_us
from vedette.search.bodies.wire_values import instant
from vedette.search.tree.missing import Reason
from vedette.store.read.relatives import Report

RELATIONS: Final[Mapping[int, str]] = {
    ChildKind.FORK: "fork",
    ChildKind.EXEC: "exec",
    ChildKind.OTHER_EXEC: "other_exec",
}
"""How a child began; other where the sender does not say."""

_COUNTS: Final = tuple((kind, f"{kind}_count") for kind in COUNTED)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a process stands in the tree."""

    process_id: str
    parent_id: str
    depth: int
    """Generations below the process whose tree it is; negative above it."""


def node_body(place: Place, row: Row, report: Report | None, is_suppressed: bool) -> Body:
    """A process that is there, labelled as its parent reported it."""
    own = _label(row["path"], row["process_name"], row["cmdline"])
    label = own
    if report is not None and report.path:
        label = _label(report.path, _file_name(report.path), report.command_line or own["cmdline"])
    return _body(place, label, own, report) | _known(row) | {"is_suppressed": is_suppressed}


def ancestor_body(row: Row | None, child: Row, depth: int, missing: Reason | None = None) -> Body:
    """An ancestor, labelled as its child reported it; `row` is None for one that is missing."""
    process_id = child["parent_id"] or unknown_parent_id(child["sensor_id"])
    told = _label(child["parent_path"], child["parent_name"], child["parent_cmdline"])
    if row is None:
        place = Place(process_id, "", depth)
        known = {
            "process_pid": child["parent_pid"],
            "process_md5": child["parent_md5"],
            "process_sha256": child["parent_sha256"],
            "username": child["parent_username"],
        }
        return _body(place, told, None, None) | known | {"missing": missing}
    own = _label(row["path"], row["process_name"], row["cmdline"])
    label = {name: told[name] or own[name] for name in told}
    return _body(Place(process_id, row["parent_id"], depth), label, own, None) | _known(row)


def missing_body(place: Place, report: Report | None, missing: Reason) -> Body:
    """A process of which only its parent tells."""
    if report is None:
        return _body(place, _label("", "", ""), None, None) | {"missing": missing}
    label = _label(report.path, _file_name(report.path), report.command_line)
    return _body(place, label, None, report) | {
        "process_pid": report.pid,
        "process_md5": report.md5,
        "process_sha256": report.sha256,
        "username": report.username,
        "start": instant(report.time_us),
        "is_suppressed": report.is_suppressed,
        "missing": missing,
    }


def _body(place: Place, label: Body, own: Body | None, report: Report | None) -> Body:
    return {
        "id": place.process_id,
        "unique_id": unique_id(place.process_id, 1),
        "segment_id": None,
        "parent_id": place.parent_id,
        "depth": place.depth,
        "relation": RELATIONS.get(report.kind, "other") if report else "other",
        "reported_by": report.parent_id if report else None,
        "label": label,
        "now": own if own not in (None, label) else None,
        "process_pid": 0,
        "process_md5": "",
        "process_sha256": "",
        "username": "",
        "start": None,
        "end": None,
        "terminated": None,
        "event_counts": {},
        "alerts": [],
        "is_suppressed": False,
        "missing": None,
        "has_more_children": False,
    }


def _known(row: Row) -> Body:
    """What only the process's own records tell."""
    began_us = start_us(row)
    return {
        "unique_id": unique_id(row["process_id"], row["segment_id"]),
        "segment_id": row["segment_id"],
        "process_pid": row["process_pid"],
        "process_md5": row["process_md5"],
        "process_sha256": row["process_sha256"],
        "username": row["username"],
        "start": instant(began_us) if began_us else None,
        "end": instant(row["end_time"]) if row["end_time"] else None,
        "terminated": bool(row["terminated"]),
        "sensor_id": row["sensor_id"],
        "hostname": row["hostname"],
        "event_counts": {kind: row[count] for kind, count in _COUNTS},
    }


def _label(path: str, name: str, cmdline: str) -> dict[str, Any]:
    return {"path": path, "process_name": name, "cmdline": cmdline}


def _file_name(path: str) -> str:
    return path.replace("\\", "/").rsplit("/", 1)[-1]

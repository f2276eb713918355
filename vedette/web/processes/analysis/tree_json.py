"""Formats the tree of a process (docs/api-process-tree.md).

Every node has the same members, whether the process has records or is missing: unknown text is
empty, other unknown values are null. `label` describes the process as it started; `now` has the
values from its own records, if they differ.
"""

from collections.abc import Mapping
from typing import Any, Final

from vedette.model.event import ChildKind
from vedette.model.ids import unique_id, unknown_parent_id
from vedette.search.processes.process_columns import COUNTED, Row
from vedette.search.tree.descendants import TreePosition
from vedette.search.tree.tree import Ancestor, ProcessTree, TreeNode
from vedette.store.read.relatives import Report
from vedette.web.json.wire_values import elapsed, instant, known_instant
from vedette.web.processes.analysis.tree_token import token_of
from vedette.web.processes.models import Body

RELATIONS: Final[Mapping[int, str]] = {
    ChildKind.FORK: "fork",
    ChildKind.EXEC: "exec",
    ChildKind.OTHER_EXEC: "other_exec",
}
"""Start method of a child process; "other" if the sender does not report it."""

_COUNTS: Final = tuple((kind, f"{kind}_count") for kind in COUNTED)


def tree_body(tree: ProcessTree) -> Body:
    """Returns the response for a tree."""
    token = token_of(tree.next, tree.process_id, tree.depth) if tree.next else None
    return {
        "process_id": tree.process_id,
        "depth": tree.depth,
        "ancestors": [_ancestor_body(one) for one in tree.ancestors],
        "nodes": [_node_body(one) for one in tree.nodes],
        "is_complete": tree.is_complete,
        "continue": token,
        "elapsed": elapsed(tree.elapsed_s),
    }


def _node_body(node: TreeNode) -> Body:
    body = _missing_body(node) if node.row is None else _known_body(node, node.row)
    return body | {"has_more_children": node.has_more_children}


def _known_body(node: TreeNode, row: Row) -> Body:
    """Returns a process with records, labeled as its parent reported it."""
    report = node.report
    own = _label(row["path"], row["process_name"], row["cmdline"])
    label = own
    if report is not None and report.path:
        label = _label(report.path, _file_name(report.path), report.command_line or own["cmdline"])
    body = _body(node.position, label, own, report)
    return body | _known(row) | {"is_suppressed": node.is_suppressed}


def _missing_body(node: TreeNode) -> Body:
    """Returns a process without records that a parent reported or a child refers to."""
    report = node.report
    if report is None:
        return _body(node.position, _label("", "", ""), None, None) | {"missing": node.missing}
    label = _label(report.path, _file_name(report.path), report.command_line)
    return _body(node.position, label, None, report) | {
        "process_pid": report.pid,
        "process_md5": report.md5,
        "process_sha256": report.sha256,
        "username": report.username,
        "start": instant(report.time_us),
        "is_suppressed": report.is_suppressed,
        "missing": node.missing,
    }


def _ancestor_body(ancestor: Ancestor) -> Body:
    """Returns an ancestor, labeled as its child reported it."""
    row, child = ancestor.row, ancestor.child
    process_id = child["parent_id"] or unknown_parent_id(child["sensor_id"])
    reported = _label(child["parent_path"], child["parent_name"], child["parent_cmdline"])
    if row is None:
        known = {
            "process_pid": child["parent_pid"],
            "process_md5": child["parent_md5"],
            "process_sha256": child["parent_sha256"],
            "username": child["parent_username"],
            "missing": ancestor.missing,
        }
        return _body(TreePosition(process_id, "", ancestor.depth), reported, None, None) | known
    own = _label(row["path"], row["process_name"], row["cmdline"])
    label = {name: reported[name] or own[name] for name in reported}
    position = TreePosition(process_id, row["parent_id"], ancestor.depth)
    return _body(position, label, own, None) | _known(row)


def _body(position: TreePosition, label: Body, own: Body | None, report: Report | None) -> Body:
    return {
        "id": position.process_id,
        "unique_id": unique_id(position.process_id, 1),
        "segment_id": None,
        "parent_id": position.parent_id,
        "depth": position.depth,
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
    """Returns the members that require the process's own records."""
    return {
        "unique_id": unique_id(row["process_id"], row["segment_id"]),
        "segment_id": row["segment_id"],
        "process_pid": row["process_pid"],
        "process_md5": row["process_md5"],
        "process_sha256": row["process_sha256"],
        "username": row["username"],
        "start": known_instant(row["start"]),
        "end": known_instant(row["end_time"]),
        "terminated": bool(row["terminated"]),
        "sensor_id": row["sensor_id"],
        "hostname": row["hostname"],
        "event_counts": {kind: row[count] for kind, count in _COUNTS},
    }


def _label(path: str, name: str, cmdline: str) -> dict[str, Any]:
    return {"path": path, "process_name": name, "cmdline": cmdline}


def _file_name(path: str) -> str:
    return path.replace("\\", "/").rsplit("/", 1)[-1]

"""The tree of a process: its ancestors, its descendants, and reasons for missing ones.

Ancestors are read one generation at a time, in parallel with the descendants (`descendants.py`). A
continuation names the last descendant of the previous answer (`cursor.py`), and the walk down to it
is repeated. So the server keeps no state between requests, and each request uses its caller's
scope. A node carries its own row and its parent's report, because the API labels processes as they
were when they began.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from vedette.model.ids import names_process
from vedette.model.scope import Scope
from vedette.search.processes.absence import Absence, Reason
from vedette.search.processes.process_columns import Row, time_in_id_us
from vedette.search.processes.process_lookup import completed, unknown_process
from vedette.search.processes.suppression import Suppression
from vedette.search.tree.cursor import Cursor
from vedette.search.tree.descendants import (
    NO_WALK,
    Descendant,
    Generation,
    TreePosition,
    TreeRequest,
    Walk,
    descend,
    read_generation,
)
from vedette.store.engine.client import Engine
from vedette.store.read.relatives import FACTS, NODE, Known, Report, facts_of, known_of, reports_of


@dataclass(frozen=True, slots=True)
class Ancestor:
    """A process above the root, and the child through which it was found."""

    row: Row | None
    """None if it has no records."""
    child: Row
    """The child; its parent columns describe the ancestor."""
    depth: int
    """Negative: number of generations above the root."""
    missing: Reason | None


@dataclass(frozen=True, slots=True)
class TreeNode:
    """The root or a descendant."""

    position: TreePosition
    row: Row | None
    """None if it has no records."""
    report: Report | None
    """The parent's event that reported it."""
    is_suppressed: bool
    missing: Reason | None
    has_more_children: bool
    """True for a node in the lowest generation of this answer that has children."""


@dataclass(frozen=True, slots=True)
class ProcessTree:
    """One answer about the tree of a process."""

    process_id: str
    depth: int
    ancestors: Sequence[Ancestor]
    """The parent first; only in the first answer."""
    nodes: Sequence[TreeNode]
    """The root (only in the first answer), then descendants breadth first."""
    is_complete: bool
    next: Cursor | None
    """The start of the next answer."""
    elapsed_s: float


def tree(
    engine: Engine, scope: Scope, process_id: str, request: TreeRequest, suppression: Suppression
) -> ProcessTree:
    """Returns the tree of one process. Raises NotFoundError."""
    began = time.perf_counter()
    top = read_generation(engine, scope, [process_id], FACTS)
    if process_id not in top.known:
        raise unknown_process(engine, scope, process_id)
    root = top.known[process_id].row
    absence = Absence(engine, scope)
    lineage, walk = _both_ways(engine, scope, process_id, top, request)
    nodes = _nodes(engine, scope, walk, absence, suppression)
    ancestors: list[Ancestor] = []
    if request.after is None:
        rows = [known.row for known in lineage]
        ancestors = _ancestors(root, rows, absence, request.depth)
        nodes = [_root(engine, scope, root, lineage, suppression), *nodes]
    return ProcessTree(
        process_id=process_id,
        depth=request.depth,
        ancestors=ancestors,
        nodes=nodes,
        is_complete=walk.is_complete and walk.next is None,
        next=walk.next,
        elapsed_s=time.perf_counter() - began,
    )


def _both_ways(
    engine: Engine, scope: Scope, process_id: str, top: Generation, request: TreeRequest
) -> tuple[list[Known], Walk]:
    """Reads ancestors and descendants in parallel. A process that is both (a cycle) counts as an
    ancestor: then the walk down is repeated without it."""
    if not request.depth:
        return [], NO_WALK
    seen = {process_id}
    reading = engine.query_pool.submit(
        _lineage, engine, scope, top.known[process_id].row, request.depth
    )
    walk = descend(engine, scope, process_id, top, seen, request)
    lineage = reading.result()
    above = {known.row["process_id"] for known in lineage}
    if above & seen:
        walk = descend(engine, scope, process_id, top, above | {process_id}, request)
    return lineage, walk


def _lineage(engine: Engine, scope: Scope, root: Row, depth: int) -> list[Known]:
    """Returns the ancestors within scope, the parent first, up to a cycle. Reads the reports of the
    parent only."""
    found: list[Known] = []
    seen = {root["process_id"]}
    row = root
    while len(found) < depth:
        parent_id = row["parent_id"]
        if not names_process(parent_id) or parent_id in seen:
            break
        seen.add(parent_id)
        known = _ancestor(engine, scope, parent_id, with_reports=not found)
        if known is None:
            break
        found.append(known)
        row = known.row
    return found


def _ancestor(engine: Engine, scope: Scope, process_id: str, *, with_reports: bool) -> Known | None:
    if with_reports:
        return known_of(engine, [process_id], scope, FACTS).get(process_id)
    row = facts_of(engine, [process_id], scope).get(process_id)
    return None if row is None else Known(row, None)


def _ancestors(root: Row, lineage: Sequence[Row], absence: Absence, depth: int) -> list[Ancestor]:
    """Returns the ancestors with records, and the missing parent of the topmost one."""
    line = [root, *lineage]
    found = [
        Ancestor(row, completed(child, row), -generation, None)
        for generation, (child, row) in enumerate(zip(line, lineage, strict=False), start=1)
    ]
    top = line[-1]
    seen = {row["process_id"] for row in line}
    if len(lineage) < depth and top["parent_id"] not in seen:
        found += _missing_parent(top, absence, -len(line))
    return found


def _missing_parent(top: Row, absence: Absence, generation: int) -> list[Ancestor]:
    """Returns the parent of the topmost ancestor, of which only the child is stored; [] if it is
    unknown."""
    parent_id = top["parent_id"]
    if not names_process(parent_id) and not top["parent_name"]:
        return []
    began_us = time_in_id_us(parent_id, before_us=top["last_update"])
    return [Ancestor(None, top, generation, absence.reason(parent_id, began_us))]


def _root(
    engine: Engine, scope: Scope, root: Row, lineage: Sequence[Known], suppression: Suppression
) -> TreeNode:
    report = _report_of(engine, scope, root["process_id"], lineage[0]) if lineage else None
    position = TreePosition(root["process_id"], root["parent_id"], 0)
    is_suppressed = suppression.hides(root)
    return TreeNode(position, root, report, is_suppressed, None, has_more_children=False)


def _report_of(engine: Engine, scope: Scope, child_id: str, parent: Known) -> Report | None:
    """Returns the parent's event about one child."""
    parent_id = parent.row["process_id"]
    reports = parent.reports
    if reports is None:
        reports = reports_of(engine, [parent_id], scope, limit=1, child_ids=[child_id])
    return next((report for report in reports if report.child_id == child_id), None)


def _nodes(
    engine: Engine, scope: Scope, walk: Walk, absence: Absence, suppression: Suppression
) -> list[TreeNode]:
    """Returns the descendants of a walk. Reads the rows that the walk did not read in one query."""
    unread = [child.position.process_id for child in walk.children if not child.is_read]
    rows = facts_of(engine, unread, scope, NODE)
    return [
        _node(
            child,
            child.known.row if child.known else rows.get(child.position.process_id),
            absence,
            suppression,
            walk.unfolded,
        )
        for child in walk.children
    ]


def _node(
    child: Descendant,
    row: Row | None,
    absence: Absence,
    suppression: Suppression,
    unfolded: frozenset[str],
) -> TreeNode:
    position, report = child.position, child.report
    missing: Reason | None = None
    if row is not None:
        is_suppressed = suppression.hides(row)
    else:
        is_suppressed = report is not None and report.is_suppressed
        missing = absence.reason(position.process_id, child.began_us, is_suppressed=is_suppressed)
    has_more = position.process_id in unfolded
    return TreeNode(position, row, report, is_suppressed, missing, has_more)

"""The tree of a process, with reasons: who began it, what it began, and what is missing and why.

Ancestors come one generation at a time, and beside them the descendants (`descendants.py`). A
continuation names the last descendant that was answered (`cursor.py`), and the walk down to
it is made again, so nothing is kept between two requests and the scope is that of the caller each
time.

Every process is labelled as it was at the time: an ancestor as its child reported it, a
descendant as its parent did when it began. Where its own records say something else by now, both
are shown.
"""

import time
from collections.abc import Mapping, Sequence

from vedette.model.ids import names_process
from vedette.model.scope import Scope
from vedette.search.bodies.process import Body, Row, start_us
from vedette.search.bodies.tree import Place, ancestor_body, missing_body, node_body
from vedette.search.processes.not_found import completed, unknown_process
from vedette.search.processes.suppression import Suppression
from vedette.search.tree.cursor import token_of
from vedette.search.tree.descendants import (
    NO_WALK,
    Descendant,
    Met,
    TreeRequest,
    Walk,
    descend,
    met,
)
from vedette.search.tree.missing import Absence
from vedette.store.engine.client import Engine
from vedette.store.engine.query_pool import submit
from vedette.store.read.relatives import FACTS, NODE, Known, Report, facts_of, known_of, reports_of


def tree(
    engine: Engine, scope: Scope, process_id: str, request: TreeRequest, suppression: Suppression
) -> Body:
    """The tree of one process. Raises NotFoundError when it cannot be seen."""
    began = time.perf_counter()
    top = met(engine, scope, [process_id], FACTS)
    if process_id not in top.known:
        raise unknown_process(process_id)
    root = top.known[process_id].row
    absence = Absence(engine, scope)
    lineage, walk = _both_ways(engine, scope, process_id, top, request)
    nodes = _nodes(engine, scope, walk, absence, suppression)
    ancestors: list[Body] = []
    if request.after is None:
        rows = [known.row for known in lineage]
        ancestors = _ancestors(root, rows, absence, request.depth)
        nodes = [_root(engine, scope, root, lineage, suppression), *nodes]
    return {
        "process_id": process_id,
        "depth": request.depth,
        "ancestors": ancestors,
        "nodes": nodes,
        "is_complete": walk.is_complete and walk.next is None,
        "continue": token_of(walk.next, process_id, request.depth) if walk.next else None,
        "elapsed": time.perf_counter() - began,
    }


def _both_ways(
    engine: Engine, scope: Scope, process_id: str, top: Met, request: TreeRequest
) -> tuple[list[Known], Walk]:
    """The ancestors, and at the same time the descendants. Should one be both, it is an ancestor:
    then the walk down is made again, with the ancestors as met before."""
    if not request.depth:
        return [], NO_WALK
    seen = {process_id}
    asked = submit(_lineage, engine, scope, top.known[process_id].row, request.depth)
    walk = descend(engine, scope, process_id, top, seen, request)
    lineage = asked.result()
    above = {known.row["process_id"] for known in lineage}
    if above & seen:
        walk = descend(engine, scope, process_id, top, above | {process_id}, request)
    return lineage, walk


def _lineage(engine: Engine, scope: Scope, root: Row, depth: int) -> list[Known]:
    """The ancestors that can be seen, the parent first, with what that one reported; ends at a
    cycle."""
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


def _ancestors(root: Row, lineage: Sequence[Row], absence: Absence, depth: int) -> list[Body]:
    """The bodies of the ancestors, the last of which may be missing."""
    line = [root, *lineage]
    bodies = [
        ancestor_body(row, completed(child, row), -generation)
        for generation, (child, row) in enumerate(zip(line, lineage, strict=False), start=1)
    ]
    top = line[-1]
    seen = {row["process_id"] for row in line}
    if len(lineage) < depth and top["parent_id"] not in seen:
        bodies += _beyond(top, absence, -len(line))
    return bodies


def _beyond(top: Row, absence: Absence, generation: int) -> list[Body]:
    """The parent of the topmost ancestor, of which only its child tells."""
    parent_id = top["parent_id"]
    if not names_process(parent_id) and not top["parent_name"]:
        return []
    told = {"process_id": parent_id, "start": 0, "last_update": top["last_update"]}
    reason = absence.reason(parent_id, start_us(told))
    return [ancestor_body(None, top, generation, reason)]


def _root(
    engine: Engine, scope: Scope, root: Row, lineage: Sequence[Known], suppression: Suppression
) -> Body:
    report = _report_of(engine, scope, root["process_id"], lineage[0]) if lineage else None
    place = Place(root["process_id"], root["parent_id"], 0)
    return node_body(place, root, report, suppression.hides(root))


def _report_of(engine: Engine, scope: Scope, child_id: str, parent: Known) -> Report | None:
    """What a process reported of one child."""
    parent_id = parent.row["process_id"]
    told = parent.reports
    if told is None:
        told = reports_of(engine, [parent_id], scope, limit=1, child_ids=[child_id])
    return next((report for report in told if report.child_id == child_id), None)


def _nodes(
    engine: Engine, scope: Scope, walk: Walk, absence: Absence, suppression: Suppression
) -> list[Body]:
    untold = [child.place.process_id for child in walk.children if not child.is_asked]
    rows = facts_of(engine, untold, scope, NODE)
    return [
        _node(
            child,
            child.known.row if child.known else rows.get(child.place.process_id),
            absence,
            suppression,
            walk.unfolded,
        )
        for child in walk.children
    ]


def _node(
    child: Descendant,
    row: Mapping[str, object] | None,
    absence: Absence,
    suppression: Suppression,
    unfolded: frozenset[str],
) -> Body:
    place, report = child.place, child.report
    if row is not None:
        body = node_body(place, row, report, suppression.hides(row))
    else:
        is_suppressed = report is not None and report.is_suppressed
        reason = absence.reason(place.process_id, child.began_us, is_suppressed=is_suppressed)
        body = missing_body(place, report, reason)
    return body | {"has_more_children": place.process_id in unfolded}

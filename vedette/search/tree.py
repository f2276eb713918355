"""The tree of a process, with reasons: who began it, what it began, and what is missing and why.

Ancestors come one generation at a time, descendants generation by generation, two questions to
the store for each, at once; whoever has no events of children is not asked for them. While
generations are small, what the descendants are is asked with who they are. Children of a
generation are in order of their start; a continuation names the last one that was answered
(`tree_token.py`), and the walk down to it is made again, so nothing is kept between two requests
and the scope is that of the caller each time.

Every process is labelled as it was at the time: an ancestor as its child reported it, a
descendant as its parent did when it began. Where its own records say something else by now, both
are shown.
"""

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from vedette import limits
from vedette.model.ids import names_process
from vedette.model.scope import Scope
from vedette.search.one_process import completed, unknown_process
from vedette.search.process_body import Body, Row, start_us
from vedette.search.suppression import Suppression
from vedette.search.tree_body import Place, ancestor_body, missing_body, node_body
from vedette.search.tree_missing import Absence
from vedette.search.tree_token import Cursor, token_of
from vedette.store.engine import Engine
from vedette.store.relatives import (
    Report,
    Tie,
    facts_of,
    known_ties_of,
    reports_of,
    ties_of,
)


@dataclass(frozen=True, slots=True)
class TreeRequest:
    """What part of a tree is wanted."""

    depth: int
    """Generations, up and down."""
    max_nodes: int
    after: Cursor | None = None
    """The descendant that the answer before ended with."""


@dataclass(frozen=True, slots=True)
class _Child:
    """A descendant as the walk finds it; ordered by `key` within its generation."""

    place: Place
    began_us: int
    report: Report | None
    reports: int = 1
    """Its own events of children; 1 where that is not known."""
    row: Row | None = None
    """What it is, where that was told beside who began it."""

    @property
    def key(self) -> tuple[int, str]:
        return self.began_us, self.place.process_id


@dataclass(frozen=True, slots=True)
class _Walk:
    """The descendants of one answer."""

    children: list[_Child]
    next: Cursor | None
    """Where the rest begins; None when there is none."""
    unfolded: frozenset[str]
    """Processes at the lowest generation asked for that have children."""
    is_complete: bool
    """False when a generation was too large to be put in order."""


_NO_WALK: Final = _Walk([], None, frozenset(), is_complete=True)


def tree(
    engine: Engine, scope: Scope, process_id: str, request: TreeRequest, suppression: Suppression
) -> Body:
    """The tree of one process. Raises NotFoundError when it cannot be seen."""
    began = time.perf_counter()
    root = facts_of(engine, [process_id], scope).get(process_id)
    if root is None:
        raise unknown_process(process_id)
    absence = Absence(engine, scope)
    lineage = _lineage(engine, scope, root, request.depth)
    seen = {process_id, *(str(row["process_id"]) for row in lineage)}
    walk = _descend(engine, scope, root, seen, request) if request.depth else _NO_WALK
    nodes = _nodes(engine, scope, walk, absence, suppression)
    ancestors: list[Body] = []
    if request.after is None:
        ancestors = _ancestors(root, lineage, absence, request.depth)
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


def _lineage(engine: Engine, scope: Scope, root: Row, depth: int) -> list[Row]:
    """The ancestors that can be seen, the parent first; ends at a cycle."""
    found: list[Row] = []
    seen = {root["process_id"]}
    row: Row | None = root
    while row is not None and len(found) < depth:
        parent_id = row["parent_id"]
        if not names_process(parent_id) or parent_id in seen:
            break
        seen.add(parent_id)
        row = facts_of(engine, [parent_id], scope).get(parent_id)
        if row is not None:
            found.append(row)
    return found


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
    engine: Engine, scope: Scope, root: Row, lineage: Sequence[Row], suppression: Suppression
) -> Body:
    process_id = root["process_id"]
    reports: list[Report] = []
    if lineage:
        parent_id = lineage[0]["process_id"]
        reports = reports_of(engine, [parent_id], scope, limit=1, child_ids=[process_id])
    place = Place(process_id, root["parent_id"], 0)
    row = completed(root, lineage[0] if lineage else None)
    return node_body(place, row, reports[0] if reports else None, suppression.hides(root))


def _descend(
    engine: Engine, scope: Scope, root: Row, seen: set[str], request: TreeRequest
) -> _Walk:
    """Generation by generation, past the cursor, until there are enough or no more."""
    found: list[_Child] = []
    place = Place(root["process_id"], root["parent_id"], 0)
    parents = [_Child(place, 0, None, root["childproc_count"])]
    is_complete = True
    for depth in range(1, request.depth + 1):
        room = request.max_nodes - len(found)
        is_shown = request.after is None or depth > request.after.depth
        generation = _generation(engine, scope, parents, depth, seen, room if is_shown else 0)
        is_complete = is_complete and len(generation) < limits.TREE_GENERATION_MAX
        page = [child for child in generation if _is_after(child, request.after)]
        found += page[:room]
        if len(page) > room:
            last = found[-1]
            cursor = Cursor(last.place.depth, last.began_us, last.place.process_id)
            return _Walk(found, cursor, frozenset(), is_complete)
        parents = generation
        if not parents:
            return _Walk(found, None, frozenset(), is_complete)
    unfolded = _generation(engine, scope, parents, request.depth + 1, seen, 0)
    return _Walk(found, None, frozenset(one.place.parent_id for one in unfolded), is_complete)


def _is_after(child: _Child, cursor: Cursor | None) -> bool:
    return cursor is None or (child.place.depth, *child.key) > (
        cursor.depth,
        cursor.began_us,
        cursor.process_id,
    )


def _generation(
    engine: Engine, scope: Scope, parents: Sequence[_Child], depth: int, seen: set[str], room: int
) -> list[_Child]:
    """The children of some processes that were not met before, in order; notes them as seen.
    At most `room` of them will be shown."""
    most = limits.TREE_GENERATION_MAX
    ids = [parent.place.process_id for parent in parents]
    telling = [parent.place.process_id for parent in parents if parent.reports]
    # A child that came and went is told of twice.
    few = 2 * room if sum(parent.reports for parent in parents) <= 2 * room else 0
    with ThreadPoolExecutor(max_workers=1) as beside:
        told = beside.submit(reports_of, engine, telling, scope, limit=most)
        ties = _ties(engine, scope, ids, few)
    reports: dict[str, Report] = {}
    for report in sorted(told.result(), key=_reported):
        reports.setdefault(report.child_id, report)
    found: dict[str, _Child] = {}
    for tie in ties:
        found[tie.child_id] = _tied(tie, depth, reports.get(tie.child_id))
    for child_id, report in reports.items():
        place = Place(child_id, report.parent_id, depth)
        found.setdefault(child_id, _Child(place, report.time_us, report))
    new = [child for child_id, child in found.items() if child_id not in seen]
    seen.update(child.place.process_id for child in new)
    return sorted(new, key=lambda child: child.key)[:most]


def _ties(engine: Engine, scope: Scope, parent_ids: Sequence[str], few: int) -> list[Tie]:
    """Who names these as parents; with what they are when that is no more than a few."""
    known = known_ties_of(engine, parent_ids, scope, limit=few) if few else None
    if known is not None:
        return known
    return ties_of(engine, parent_ids, scope, limit=limits.TREE_GENERATION_MAX)


def _reported(report: Report) -> tuple[int, str]:
    return report.time_us, report.parent_id


def _tied(tie: Tie, depth: int, report: Report | None) -> _Child:
    """A child that names its parent; the report of another process tells how it began (exec)."""
    place = Place(tie.child_id, tie.parent_id, depth)
    return _Child(place, tie.start_us, report, tie.reports, tie.facts)


def _nodes(
    engine: Engine, scope: Scope, walk: _Walk, absence: Absence, suppression: Suppression
) -> list[Body]:
    untold = [child.place.process_id for child in walk.children if child.row is None]
    rows = facts_of(engine, untold, scope)
    return [
        _node(
            child,
            child.row or rows.get(child.place.process_id),
            absence,
            suppression,
            walk.unfolded,
        )
        for child in walk.children
    ]


def _node(
    child: _Child,
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

"""The descendants of a process, generation by generation.

What the processes of a generation are, and what they reported of their children, is one question
to the store; who names them as parents is another, asked at the same time. The two tell who the
next generation is. One with more than a few is asked without what its processes are. Children of
a generation are in order of their start; a walk begins behind a cursor, and ends with one where
there is more.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from vedette import limits
from vedette.model.columns import Column
from vedette.model.scope import Scope
from vedette.search.bodies.tree import Place
from vedette.search.tree.cursor import Cursor
from vedette.store.engine.client import Engine
from vedette.store.engine.query_pool import submit
from vedette.store.read.relatives import (
    NODE,
    Known,
    Report,
    children_named,
    known_of,
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
class Descendant:
    """A descendant as the walk finds it; ordered by `key` within its generation."""

    place: Place
    began_us: int
    report: Report | None
    known: Known | None = None
    """What it is; None where it is not there, or was not asked for."""
    is_asked: bool = False
    count: int = 1
    """Its own events of children; 1 where that is not known."""

    @property
    def key(self) -> tuple[int, str]:
        return self.began_us, self.place.process_id


@dataclass(frozen=True, slots=True)
class Walk:
    """The descendants of one answer."""

    children: list[Descendant]
    next: Cursor | None
    """Where the rest begins; None when there is none."""
    unfolded: frozenset[str]
    """Processes at the lowest generation asked for that have children."""
    is_complete: bool
    """False when a generation was too large to be put in order."""


_FEW: Final = 1_000
"""Children of a generation that are read with what they are, whether they are shown or not."""

NO_WALK: Final = Walk([], None, frozenset(), is_complete=True)


@dataclass(frozen=True, slots=True)
class Met:
    """Processes that were asked for, by id: what those are that can be seen, and who names one of
    them as its parent."""

    known: Mapping[str, Known]
    named: Sequence[str] | None = None
    """None where it was not asked, or there are more than a few."""


_UNASKED: Final = Met({})


def met(
    engine: Engine,
    scope: Scope,
    process_ids: Sequence[str],
    columns: Sequence[Column] = NODE,
    most: int = _FEW,
) -> Met:
    """Asks for processes; named by at most `most` others."""
    named = submit(children_named, engine, process_ids, most)
    known = known_of(engine, process_ids, scope, columns)
    return Met(known, named.result())


def descend(
    engine: Engine, scope: Scope, root: str, top: Met, seen: set[str], request: TreeRequest
) -> Walk:
    """From a process that was met, past the cursor, until there are enough or no more; notes all
    that it comes by as seen."""
    found: list[Descendant] = []
    known = top.known[root]
    parents = [_child(Place(root, known.row["parent_id"], 0), 0, None, known)]
    is_complete = True
    for depth in range(1, request.depth + 1):
        room = request.max_nodes - len(found)
        is_shown = request.after is None or depth > request.after.depth
        few = max(2 * room, _FEW) if is_shown else _FEW
        generation, top = _generation(engine, scope, parents, top, depth, seen, few)
        is_complete = is_complete and len(generation) < limits.TREE_GENERATION_MAX
        page = [child for child in generation if _is_after(child, request.after)]
        found += page[:room]
        if len(page) > room:
            last = found[-1]
            cursor = Cursor(last.place.depth, last.began_us, last.place.process_id)
            return Walk(found, cursor, frozenset(), is_complete)
        parents = generation
        if not parents:
            return Walk(found, None, frozenset(), is_complete)
    unfolded, _ = _generation(engine, scope, parents, top, request.depth + 1, seen, _FEW)
    return Walk(found, None, frozenset(one.place.parent_id for one in unfolded), is_complete)


def _is_after(child: Descendant, cursor: Cursor | None) -> bool:
    return cursor is None or (child.place.depth, *child.key) > (
        cursor.depth,
        cursor.began_us,
        cursor.process_id,
    )


def _generation(
    engine: Engine,
    scope: Scope,
    parents: Sequence[Descendant],
    top: Met,
    depth: int,
    seen: set[str],
    few: int,
) -> tuple[list[Descendant], Met]:
    """The children of some processes that were not met before, in order; notes them as seen."""
    ids = [parent.place.process_id for parent in parents]
    below = _UNASKED
    told = submit(_reported, engine, scope, parents)
    named = top.named
    # A child that came and went is told of twice.
    if named is None and sum(parent.count for parent in parents) <= few:
        named = children_named(engine, ids, few)
    reports = told.result()
    if named is None:
        found = _tied(engine, scope, ids, depth, reports)
    else:
        new = [one for one in dict.fromkeys((*named, *reports)) if one not in seen]
        below = met(engine, scope, new, most=few) if new else _UNASKED
        found = _known(below.known, set(ids), depth, named, reports)
    children = [child for child_id, child in found.items() if child_id not in seen]
    seen.update(child.place.process_id for child in children)
    children.sort(key=lambda child: child.key)
    return children[: limits.TREE_GENERATION_MAX], below


def _reported(engine: Engine, scope: Scope, parents: Sequence[Descendant]) -> dict[str, Report]:
    """The children that some processes reported, by id, as the first that did tells of each."""
    found: list[Report] = []
    untold: list[str] = []
    for parent in parents:
        if parent.known is not None and parent.known.reports is not None:
            found += parent.known.reports
        elif parent.count:
            untold.append(parent.place.process_id)
    found += reports_of(engine, untold, scope, limit=limits.TREE_GENERATION_MAX)
    found.sort(key=lambda report: (report.time_us, report.parent_id, report.child_id))
    reports: dict[str, Report] = {}
    for report in found:
        reports.setdefault(report.child_id, report)
    return reports


def _tied(
    engine: Engine,
    scope: Scope,
    parent_ids: Sequence[str],
    depth: int,
    reports: Mapping[str, Report],
) -> dict[str, Descendant]:
    """The children of a generation, without what they are."""
    found: dict[str, Descendant] = {}
    for tie in ties_of(engine, parent_ids, scope, limit=limits.TREE_GENERATION_MAX):
        place = Place(tie.child_id, tie.parent_id, depth)
        report = reports.get(tie.child_id)
        found[tie.child_id] = Descendant(place, tie.start_us, report, count=tie.reports)
    for child_id, report in reports.items():
        place = Place(child_id, report.parent_id, depth)
        found.setdefault(child_id, Descendant(place, report.time_us, report))
    return found


def _known(
    known: Mapping[str, Known],
    parent_ids: Collection[str],
    depth: int,
    named: Sequence[str],
    reports: Mapping[str, Report],
) -> dict[str, Descendant]:
    """The same, with what they are. One that names its parent stands below that one; the report of
    another process tells how it began (exec)."""
    found: dict[str, Descendant] = {}
    for child_id in named:
        one = known.get(child_id)
        if one is not None and one.row["parent_id"] in parent_ids:
            place = Place(child_id, one.row["parent_id"], depth)
            found[child_id] = _child(place, one.row["start"], reports.get(child_id), one)
    for child_id, report in reports.items():
        place = Place(child_id, report.parent_id, depth)
        if child_id not in found:
            found[child_id] = _child(place, report.time_us, report, known.get(child_id))
    return found


def _child(place: Place, began_us: int, report: Report | None, known: Known | None) -> Descendant:
    """A descendant that was asked for."""
    count = known.row["childproc_count"] if known else 0
    return Descendant(place, began_us, report, known, is_asked=True, count=count)

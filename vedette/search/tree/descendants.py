"""The descendants of a process, breadth first, one generation at a time.

Two store queries run in parallel for each generation: its rows with the children that they
reported, and the ids of processes that name a process of the generation as parent. Together they
give the next generation. A large generation is read without its rows (`TREE_GENERATION_READ_MAX`);
only the rows that are shown are read later. Children of a generation are ordered by start. A walk
resumes after a cursor, and returns one if it did not reach the end.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from vedette.limits import Limit
from vedette.model.columns import Column
from vedette.model.scope import Scope
from vedette.search.processes.process_columns import UNKNOWN_LAST_US
from vedette.search.tree.cursor import Cursor
from vedette.store.engine.client import Engine
from vedette.store.read.relatives import (
    NODE,
    Known,
    Report,
    children_named,
    known_of,
    reports_of,
    ties_of,
)

TREE_GENERATION_MAX: Limit[int] = 100_000
"""Children of one generation that are sorted; a tree with more is marked incomplete."""

TREE_GENERATION_READ_MAX: Limit[int] = 1_000
"""Processes up to which a generation is read with its rows, whether they are shown or not."""


@dataclass(frozen=True, slots=True)
class TreePosition:
    """The position of a process in the tree."""

    process_id: str
    parent_id: str
    depth: int
    """Generations below the root of the tree; negative above it."""


@dataclass(frozen=True, slots=True)
class TreeRequest:
    """The requested part of a tree."""

    depth: int
    """Number of generations, up and down."""
    max_nodes: int
    after: Cursor | None = None
    """The last descendant of the previous answer."""


@dataclass(frozen=True, slots=True)
class Descendant:
    """A descendant; ordered by `key` within its generation."""

    position: TreePosition
    began_us: int
    report: Report | None
    known: Known | None = None
    """Its row; None if it has none or the row was not read."""
    is_read: bool = False
    """Whether the row was read, even if there is none."""
    count: int = 1
    """Number of its own child events; 1 if unknown."""

    @property
    def key(self) -> tuple[int, str]:
        return self.began_us or UNKNOWN_LAST_US, self.position.process_id


@dataclass(frozen=True, slots=True)
class Walk:
    """The descendants in one answer."""

    children: list[Descendant]
    next: Cursor | None
    """The start of the rest; None at the end."""
    unfolded: frozenset[str]
    """Processes of the lowest generation that have children."""
    is_complete: bool
    """False if a generation was cut at `TREE_GENERATION_MAX`."""


NO_WALK: Final = Walk([], None, frozenset(), is_complete=True)


@dataclass(frozen=True, slots=True)
class Generation:
    """Maps process id to the row that was read, and lists the ids of processes that name one of
    them as parent."""

    known: Mapping[str, Known]
    named: Sequence[str] | None = None
    """None if it was not read, or there are too many."""


_UNREAD: Final = Generation({})


def read_generation(
    engine: Engine,
    scope: Scope,
    process_ids: Sequence[str],
    columns: Sequence[Column] = NODE,
    children_max: int = TREE_GENERATION_READ_MAX,
) -> Generation:
    """Reads processes, and the ids of at most `children_max` children."""
    named = engine.query_pool.submit(children_named, engine, process_ids, children_max)
    known = known_of(engine, process_ids, scope, columns)
    return Generation(known, named.result())


def descend(
    engine: Engine, scope: Scope, root: str, top: Generation, seen: set[str], request: TreeRequest
) -> Walk:
    """Walks down from `root`, whose generation is `top`, until it has `max_nodes` descendants after
    the cursor or no more exist. Adds every id it finds to `seen`."""
    found: list[Descendant] = []
    known = top.known[root]
    parents = [_child(TreePosition(root, known.row["parent_id"], 0), 0, None, known)]
    is_complete = True
    for depth in range(1, request.depth + 1):
        room = request.max_nodes - len(found)
        is_shown = request.after is None or depth > request.after.depth
        size_max = max(2 * room, TREE_GENERATION_READ_MAX) if is_shown else TREE_GENERATION_READ_MAX
        generation, top = _generation(engine, scope, parents, top, depth, seen, size_max)
        is_complete = is_complete and len(generation) < TREE_GENERATION_MAX
        page = [child for child in generation if _is_after(child, request.after)]
        found += page[:room]
        if len(page) > room:
            last = found[-1]
            cursor = Cursor(last.position.depth, last.began_us, last.position.process_id)
            return Walk(found, cursor, frozenset(), is_complete)
        parents = generation
        if not parents:
            return Walk(found, None, frozenset(), is_complete)
    unfolded, _ = _generation(
        engine, scope, parents, top, request.depth + 1, seen, TREE_GENERATION_READ_MAX
    )
    return Walk(found, None, frozenset(one.position.parent_id for one in unfolded), is_complete)


def _is_after(child: Descendant, cursor: Cursor | None) -> bool:
    return cursor is None or (child.position.depth, *child.key) > (
        cursor.depth,
        cursor.began_us or UNKNOWN_LAST_US,
        cursor.process_id,
    )


def _generation(
    engine: Engine,
    scope: Scope,
    parents: Sequence[Descendant],
    top: Generation,
    depth: int,
    seen: set[str],
    size_max: int,
) -> tuple[list[Descendant], Generation]:
    """Returns (children of `parents` that are not in `seen`, sorted; their rows). Adds the children
    to `seen`."""
    ids = [parent.position.process_id for parent in parents]
    below = _UNREAD
    reading = engine.query_pool.submit(_reported, engine, scope, parents)
    named = top.named
    # A child that started and ended has two events.
    if named is None and sum(parent.count for parent in parents) <= size_max:
        named = children_named(engine, ids, size_max)
    reports = reading.result()
    if named is None:
        found = _tied(engine, scope, ids, depth, reports)
    else:
        new = [one for one in dict.fromkeys((*named, *reports)) if one not in seen]
        below = read_generation(engine, scope, new, children_max=size_max) if new else _UNREAD
        found = _known(below.known, set(ids), depth, named, reports)
    children = [child for child_id, child in found.items() if child_id not in seen]
    seen.update(child.position.process_id for child in children)
    children.sort(key=lambda child: child.key)
    return children[:TREE_GENERATION_MAX], below


def _reported(engine: Engine, scope: Scope, parents: Sequence[Descendant]) -> dict[str, Report]:
    """Maps the id of each child in the events of `parents` to its earliest report."""
    found: list[Report] = []
    unread: list[str] = []
    for parent in parents:
        if parent.known is not None and parent.known.reports is not None:
            found += parent.known.reports
        elif parent.count:
            unread.append(parent.position.process_id)
    found += reports_of(engine, unread, scope, limit=TREE_GENERATION_MAX)
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
    """Returns the children of a generation without their rows."""
    found: dict[str, Descendant] = {}
    for tie in ties_of(engine, parent_ids, scope, limit=TREE_GENERATION_MAX):
        position = TreePosition(tie.child_id, tie.parent_id, depth)
        report = reports.get(tie.child_id)
        found[tie.child_id] = Descendant(position, tie.start_us, report, count=tie.reports)
    for child_id, report in reports.items():
        position = TreePosition(child_id, report.parent_id, depth)
        found.setdefault(child_id, Descendant(position, report.time_us, report))
    return found


def _known(
    known: Mapping[str, Known],
    parent_ids: Collection[str],
    depth: int,
    named: Sequence[str],
    reports: Mapping[str, Report],
) -> dict[str, Descendant]:
    """Returns the children of a generation with their rows. A child that names a parent is placed
    below that parent, even if another process reported it (exec)."""
    found: dict[str, Descendant] = {}
    for child_id in named:
        one = known.get(child_id)
        if one is not None and one.row["parent_id"] in parent_ids:
            position = TreePosition(child_id, one.row["parent_id"], depth)
            found[child_id] = _child(position, one.row["start"], reports.get(child_id), one)
    for child_id, report in reports.items():
        position = TreePosition(child_id, report.parent_id, depth)
        if child_id not in found:
            found[child_id] = _child(position, report.time_us, report, known.get(child_id))
    return found


def _child(
    position: TreePosition, began_us: int, report: Report | None, known: Known | None
) -> Descendant:
    """Returns a descendant whose row was read."""
    count = known.row["childproc_count"] if known else 0
    return Descendant(position, began_us, report, known, is_read=True, count=count)

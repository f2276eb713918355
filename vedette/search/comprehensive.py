"""Decides whether a search by segment gives the same result as a search by process
(docs/query-evaluation.md#one-segment-at-a-time).

A plain search tests each segment by itself, so `filemod:a domain:b` misses a process that did both
in different windows, and `-filemod:a` still finds its other segments. `comprehensive_search` in an
answer is true when at most one leaf tests events, and that leaf is not negated.
"""

from typing import assert_never

from vedette.query.compile.process_formula import asks_process
from vedette.query.nodes import And, Everything, Not, Or
from vedette.query.typed import Checked, Match


def is_comprehensive(tree: Checked) -> bool:
    """Whether a search by segment is exact for processes."""
    asked = _event_leaves(tree, is_negated=False)
    return len(asked) <= 1 and not any(asked)


def _event_leaves(tree: Checked, *, is_negated: bool) -> list[bool]:
    """Returns, for each leaf that tests events or event counts, whether it is negated."""
    match tree:
        case Everything():
            return []
        case Match(tests):
            return [is_negated] if any(map(asks_process, tests)) else []
        case Not(child):
            return _event_leaves(child, is_negated=not is_negated)
        case And(children) | Or(children):
            return [leaf for one in children for leaf in _event_leaves(one, is_negated=is_negated)]
        case _:
            assert_never(tree)

"""Whether an answer can be wrong because a process is several segments (query-language 6).

A search asks each segment by itself, so `filemod:a domain:b` misses a process that did both in
different windows, and `-filemod:a` still finds its other segments. The answer says so in
`comprehensive_search`: true when at most one leaf asks for events, and that one is not negated.
"""

from typing import assert_never

from vedette.query.compile.processes_sql import asks_process
from vedette.query.nodes import And, Everything, Not, Or
from vedette.query.typed import Checked, Match


def is_comprehensive(tree: Checked) -> bool:
    """Whether asking segment by segment gives the same as asking the process."""
    asked = _event_leaves(tree, is_negated=False)
    return len(asked) <= 1 and not any(asked)


def _event_leaves(tree: Checked, *, is_negated: bool) -> list[bool]:
    """For every leaf that asks for events, or counts them, whether it stands under a NOT."""
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

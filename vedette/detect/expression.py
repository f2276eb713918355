"""Compiles a condition to a single Python expression: equivalent to `verify`, but much faster.

The text of the expression contains only generated names (`k0`, `k1`, ...). All content of a rule is
bound to these names, so rules cannot inject code. `verify` evaluates conditions that are nested too
deeply for the compiler. A property test compares both.
"""

from collections.abc import Callable
from types import CodeType
from typing import Any, assert_never

from vedette.detect.nodes import And, FieldTest, IsNull, Keyword, Node, Not, Or, Text, Where
from vedette.detect.verify import compile_condition, contained
from vedette.detect.views.event import Event, Texts
from vedette.limits import Limit

PREDICATE_DEPTH_MAX: Limit[int] = 30
"""Maximum nesting of a condition that is compiled to an expression. Python's compiler allows about
100 levels."""


Expression = Callable[[Event, Texts, Texts], Any]
"""Returns whether a condition is true, given an event, its values, and its values in lower case."""


def compile_expression(node: Node) -> Expression:
    """Returns the condition as a function of an event, `event.originals()` and
    `event.lowered()`."""
    if _depth(node) > PREDICATE_DEPTH_MAX:
        plain = compile_condition(node)
        return lambda event, _values, _lower: plain(event)
    names: dict[str, Any] = {}
    text = f"lambda e, v, f: {_Writer(names).written(node)}"
    code: CodeType = compile(text, "<rule>", "eval")
    made: Expression = eval(code, {"__builtins__": {}, **names})  # noqa: S307 - only generated names
    return made


def _depth(node: Node) -> int:
    """Returns the nesting depth of a condition. Avoids recursion, because the condition may be
    deep."""
    deepest, waiting = 0, [(node, 1)]
    while waiting:
        one, depth = waiting.pop()
        deepest = max(deepest, depth)
        match one:
            case And(nodes=nodes) | Or(nodes=nodes):
                waiting += [(inner, depth + 1) for inner in nodes]
            case Not(node=inner):
                waiting.append((inner, depth + 1))
    return deepest


class _Writer:
    """Generates expression text, and binds constants to names."""

    def __init__(self, names: dict[str, Any]) -> None:
        self._names = names

    def written(self, node: Node) -> str:
        match node:
            case FieldTest(field=field, test=Text(where=where, value=value, cased=cased)):
                return self._text(field, where, cased, [value])
            case FieldTest(field=field, test=IsNull()):
                return f"(not v[{self._bound(field)}])"
            case FieldTest() | Keyword():
                return f"{self._bound(compile_condition(node))}(e)"
            case Not(node=inner):
                return f"(not {self.written(inner)})"
            case And(nodes=nodes):
                return self._joined(" and ", [self.written(one) for one in nodes], "True")
            case Or(nodes=nodes):
                return self._joined(" or ", self._alternatives(nodes), "False")
        assert_never(node)

    def _joined(self, word: str, parts: list[str], nothing: str) -> str:
        return f"({word.join(parts)})" if parts else nothing

    def _alternatives(self, nodes: tuple[Node, ...]) -> list[str]:
        """Returns the parts of an Or. Combines plain text tests of the same field and position."""
        groups: dict[tuple[str, Where, bool], list[str]] = {}
        others: list[Node] = []
        for node in nodes:
            match node:
                case FieldTest(field=field, test=Text(where=where, value=value, cased=cased)):
                    groups.setdefault((field, where, cased), []).append(value)
                case _:
                    others.append(node)
        plain = [self._text(*key, values) for key, values in groups.items()]
        return plain + [self.written(one) for one in others]

    def _text(self, field: str, where: Where, cased: bool, values: list[str]) -> str:
        value = f"{'v' if cased else 'f'}[{self._bound(field)}]"
        match where:
            case "equals":
                return f"({value} in {self._bound(frozenset(values))})"
            case "startswith" | "endswith":
                return f"{value}.{where}({self._bound(tuple(values))})"
            case "contains":
                if len(values) == 1:
                    return f"({self._bound(values[0])} in {value})"
                return f"{self._bound(contained(values))}({value})"
        assert_never(where)

    def _bound(self, value: Any) -> str:
        name = f"k{len(self._names)}"
        self._names[name] = value
        return name

"""Every regular expression of the product, found in its source, and hostile texts for each."""

import ast
import importlib
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

_MADE_AT_RUN_TIME = frozenset({"sensor/events/pattern.py"})
"""Makes patterns of the texts of filters, without backtracking by its own means."""

sre: Any = importlib.import_module("re._constants")
parser: Any = importlib.import_module("re._parser")

ROOT = Path(__file__).parents[2] / "vedette"
_METHODS = ("search", "match", "fullmatch", "sub", "subn", "findall", "finditer", "split")
_CALLED = re.compile(rf"(\w+)\s*\.({'|'.join(_METHODS)})\b")
_OF_RE = re.compile(r"\bre\.")


class Use(NamedTuple):
    """A pattern and how the product applies it."""

    where: str
    pattern: "re.Pattern[Any]"
    method: str


def uses() -> list[Use]:
    """Each `re.compile` and each call such as `re.search` of the product, with every method that
    is called on it; `search`, the dearest, where the calls cannot be seen."""
    texts = {path: path.read_text() for path in sorted(ROOT.rglob("*.py"))}
    called = _called_methods(texts.values())
    found: list[Use] = []
    for path, text in texts.items():
        if str(path.relative_to(ROOT)) in _MADE_AT_RUN_TIME or not _OF_RE.search(text):
            continue
        tree = ast.parse(text)
        handed_on = _methods_of_parameters(tree)
        for call, name in _compile_sites(tree):
            pattern = _pattern(path, call, name)
            methods = called.get(name or "") or handed_on or {"search"}
            found += [Use(_place(path, call), pattern, method) for method in sorted(methods)]
        for call in _calls(tree, "re", _METHODS):
            assert isinstance(call.func, ast.Attribute)
            found.append(Use(_place(path, call), _pattern(path, call, None), call.func.attr))
    return found


def _place(path: Path, call: ast.Call) -> str:
    return f"{path.relative_to(ROOT.parent)}:{call.lineno}"


def _calls(tree: ast.AST, module: str, names: tuple[str, ...]) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in names
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == module
        ):
            yield node


def _compile_sites(tree: ast.Module) -> Iterator[tuple[ast.Call, str | None]]:
    names: dict[ast.expr, str] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call):
                names[call] = name
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.Call() as call):
                names[call] = name
    for call in _calls(tree, "re", ("compile",)):
        yield call, names.get(call)


def _called_methods(texts: Iterable[str]) -> dict[str, set[str]]:
    """Methods by the name of what they are called on, in any module: more is a stricter test. Found
    in the text: each worker of a run does this, and parsing every module took seconds."""
    called: dict[str, set[str]] = {}
    for text in texts:
        for name, method in _CALLED.findall(text):
            called.setdefault(name, set()).add(method)
    return called


def _methods_of_parameters(tree: ast.Module) -> set[str]:
    """Methods that a module's functions call on parameters that are patterns."""
    found: set[str] = set()
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            given = {
                one.arg
                for one in function.args.args
                if one.annotation is not None and "Pattern" in ast.unparse(one.annotation)
            }
            for node in ast.walk(function) if given else ():
                match node:
                    case ast.Attribute(value=ast.Name(id=name), attr=method) if name in given:
                        found.add(method)
    return found & set(_METHODS)


def _pattern(path: Path, call: ast.Call, name: str | None) -> "re.Pattern[Any]":
    """The pattern as the module has it, or made from its arguments in the module's names."""
    dotted = ".".join(path.relative_to(ROOT.parent).with_suffix("").parts)
    module = importlib.import_module(dotted.removesuffix(".__init__"))
    known = getattr(module, name, None) if name else None
    if isinstance(known, re.Pattern):
        return known
    # First the pattern, and the flags where they are given by name.
    flags = next((word.value for word in call.keywords if word.arg == "flags"), None)
    if isinstance(call.func, ast.Attribute) and call.func.attr == "compile" and call.args[1:]:
        flags = call.args[1]
    names = vars(module)
    text = _value(call.args[0], names)
    given = 0 if flags is None else _value(flags, names)
    return re.compile(text, given)


def _value(node: ast.expr, names: dict[str, Any]) -> Any:
    """The value of an expression of constants, names of the module and flags of `re`."""
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return names[name]
        case ast.Attribute(value=ast.Name(id="re"), attr=name):
            return getattr(re, name)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _value(left, names) + _value(right, names)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _value(left, names) | _value(right, names)
        case _:
            raise AssertionError(f"a pattern that cannot be checked: {ast.unparse(node)}")


# --- hostile texts ----------------------------------------------------------------------


def pumps(pattern: "re.Pattern[Any]") -> list[str]:
    """Short texts whose repetition makes a backtracking matcher work: samples of each part, of
    neighbouring parts, and of the pattern up to each of its parts."""
    parsed = _parsed(pattern)
    parts: list[list[str]] = []
    _collect(parsed, parts)
    flat = [sample for part in parts for sample in part if sample]
    pairs = [a + b for a, b in pairwise(flat)]
    up_to = [*_prefixes(parsed, False), *_prefixes(parsed, True)]
    found = [*flat, *up_to, *pairs, *(f"{one} " for one in up_to)]
    return list(dict.fromkeys([*filter(None, found), "a", " ", "0", "=", '"', "\\", "\n"]))


def beginnings(pattern: "re.Pattern[Any]") -> list[str]:
    """Samples of what may stand before the part that is repeated."""
    return list(dict.fromkeys(_prefixes(_parsed(pattern), False)))


def _parsed(pattern: "re.Pattern[Any]") -> Any:
    given = pattern.pattern
    text = given if isinstance(given, str) else given.decode("latin-1")
    return parser.parse(text, pattern.flags & ~re.UNICODE)


def _prefixes(parsed: Any, other: bool) -> list[str]:
    """Samples of a sequence up to each of its parts, and into them."""
    found, before = [""], ""
    for item in parsed:
        for inner in _inner(item):
            found += [before + one for one in _prefixes(inner, other)]
        before += _sample(item, other)
        found.append(before)
    return list(dict.fromkeys(found))


def _collect(parsed: Any, parts: list[list[str]]) -> None:
    for item in parsed:
        parts.append([_sample(item), _sample(item, other=True)])
        for inner in _inner(item):
            _collect(inner, parts)


def _inner(item: Any) -> list[Any]:
    operation, argument = item
    if operation in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
        return [argument[2]]
    if operation is sre.SUBPATTERN:
        return [argument[3]]
    if operation is sre.ATOMIC_GROUP:
        return [argument]
    if operation is sre.BRANCH:
        return list(argument[1])
    return []


def _sample(item: Any, other: bool = False) -> str:
    """A short text that an item of a parsed pattern matches."""
    operation, argument = item
    if operation is sre.LITERAL:
        return chr(argument)
    if operation is sre.NOT_LITERAL:
        return "b" if argument == ord("a") else "a"
    if operation is sre.ANY:
        return "a"
    if operation is sre.IN:
        return _one_of(argument, other)
    if operation is sre.BRANCH:
        branches = argument[1]
        return "".join(_sample(one) for one in branches[-1 if other else 0])
    if operation in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
        least, most, inner = argument
        times = max(min(least, 64), 1 if most else 0)
        return "".join(_sample(one, other) for one in inner) * times
    return "".join(_sample(one, other) for inner in _inner(item) for one in inner)


def _one_of(members: Any, other: bool) -> str:
    candidates = [chr(code) for code in (*range(32, 127), 9, 10, 13, 0, 0x1D, 0xE9)]
    matcher = _class(members)
    matching = [one for one in candidates if matcher(one)]
    return (matching[-1] if other else matching[0]) if matching else ""


def _class(members: Any) -> Any:
    negated = bool(members) and members[0][0] is sre.NEGATE

    def matches(character: str) -> bool:
        hit = False
        for operation, argument in members[1 if negated else 0 :]:
            if operation is sre.LITERAL:
                hit = hit or ord(character) == argument
            elif operation is sre.RANGE:
                hit = hit or argument[0] <= ord(character) <= argument[1]
            elif operation is sre.CATEGORY:
                hit = hit or _in_category(character, argument)
        return hit != negated

    return matches


def _in_category(character: str, category: Any) -> bool:
    name = str(category).lower()
    kind = "d" if "digit" in name else "s" if "space" in name else "w"
    return bool(re.match(f"\\{kind.upper() if '_not_' in name else kind}", character))

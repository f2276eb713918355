"""What is only in the source text: stable words that stand as literals where they are used."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import vedette

PACKAGE = Path(vedette.__file__).parent

_METRICS = frozenset({"Counter", "Gauge", "Histogram", "Summary", "Info"})


@cache
def modules() -> tuple[tuple[Path, ast.Module], ...]:
    """Every module of the product, parsed, in the order of their paths."""
    return tuple((path, ast.parse(path.read_text())) for path in sorted(PACKAGE.rglob("*.py")))


def calls() -> Iterator[tuple[str, ast.Call]]:
    """Every call with the name of what is called, without its module or object."""
    for _, tree in modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                match node.func:
                    case ast.Name(id=name) | ast.Attribute(attr=name):
                        yield name, node


def record_reasons() -> set[str]:
    """Why a record is refused."""
    return {
        word
        for name, call in calls()
        if name in ("RecordError", "Problem") and (word := _text(call.args[:1]))
    }


def file_reasons() -> set[str]:
    """Why the importer does not read a file, a member of an archive or a place in a file."""
    found = set()
    for name, call in calls():
        if name == "Refusal" and (word := _text(call.args[1:2])):
            found.add(word)
        if name == "_refuse" and (word := _text(call.args[:1])):
            found.add(word)
    return found


def request_reasons() -> dict[str, str]:
    """Reasons given where an error is raised, or by a class of a package's own, with the name of
    the class that says the status; "" for a body that is answered without one."""
    found = dict(_class_reasons())
    for name, call in calls():
        for keyword in call.keywords:
            if keyword.arg == "reason" and name.endswith("Error") and (w := _text([keyword.value])):
                found[w] = name
    for _, tree in modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.Dict):
                for key, value in zip(node.keys, node.values, strict=True):
                    if key is not None and _text([key]) == "reason" and (word := _text([value])):
                        found.setdefault(word, "")
    return found


def _class_reasons() -> Iterator[tuple[str, str]]:
    """Of errors that packages derive from those of `errors.py`; those that derive from the root
    alone never leave their package."""
    for path, tree in modules():
        for node in ast.walk(tree):
            if not isinstance(node, ast.ClassDef) or path == PACKAGE / "errors.py":
                continue
            named = [base.id for base in node.bases if isinstance(base, ast.Name)]
            bases = [name for name in named if name != "VedetteError"]
            for line in node.body:
                match line:
                    case ast.Assign(targets=[ast.Name(id="reason")], value=value) if bases and (
                        word := _text([value])
                    ):
                        yield word, bases[0]


@cache
def attributes() -> frozenset[str]:
    """Every name that is read of an object, the settings' own package aside."""
    return frozenset(
        node.attr
        for path, tree in modules()
        if path.parent != PACKAGE / "settings"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
    )


@cache
def metric_names() -> frozenset[str]:
    """Names of all metrics that are made anywhere."""
    return frozenset(
        word for name, call in calls() if name in _METRICS and (word := _text(call.args[:1]))
    )


def _text(nodes: list[ast.expr]) -> str:
    """The text of a literal; "" for anything else."""
    match nodes:
        case [ast.Constant(value=str(text))]:
            return text
    return ""

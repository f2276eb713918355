"""The limits, from the texts next to them: all constants of `vedette.limits`, under a heading for
each module, then those that other modules mark as `Limit`, under a heading for each package."""

import ast
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from itertools import groupby
from pathlib import Path

from scripts.reference.markdown import item, paragraph
from scripts.reference.quantity import duration, size
from scripts.reference.source import PACKAGE, modules

_SHARED = PACKAGE / "limits"

_INTRODUCTION = """
Every limit has a reason. Those marked *(setting)* are defaults of the [setting](settings.md) with
the same name in small letters; the others are part of the design.
"""

Limit = tuple[str, int | float, str]
"""Name, value and text of a limit. The text is "" where none follows the value."""


def documented() -> Iterator[Limit]:
    """Every limit, module by module."""
    for found in _limits().values():
        yield from found


def body() -> str:
    return "\n\n".join([paragraph(_INTRODUCTION), *_shared_areas(), *_packages()])


@cache
def _limits() -> dict[Path, list[Limit]]:
    """Maps each module with limits to its limits, in source order."""
    found = {path: list(_documented(path, tree)) for path, tree in modules()}
    return {path: limits for path, limits in found.items() if limits}


def _shared_areas() -> Iterator[str]:
    """The limits of a module under its title, which is what its docstring has before a colon."""
    for path, limits in _limits().items():
        if path.parent == _SHARED:
            title, _, content = _docstring(path).partition(": ")
            yield _section(title, content[:1].upper() + content[1:], limits)


def _packages() -> Iterator[str]:
    """The limits of all modules of a package under its name."""
    own = ((path, limits) for path, limits in _limits().items() if path.parent != _SHARED)
    for name, found in groupby(own, lambda one: one[0].relative_to(PACKAGE).parts[0]):
        listed = [limit for _, limits in found for limit in limits]
        yield _section(f"`{name.removesuffix('.py')}`", "", listed)


def _section(title: str, about: str, limits: list[Limit]) -> str:
    lines = [item(f"`{name}`: {_shown(name, value)}. {text}") for name, value, text in limits]
    parts = [f"## {title}", paragraph(about) if about else "", "\n".join(lines)]
    return "\n\n".join(filter(None, parts))


def _docstring(path: Path) -> str:
    return (ast.get_docstring(ast.parse(path.read_text())) or "").strip()


def _documented(path: Path, tree: ast.Module) -> Iterator[Limit]:
    """The limits of a module, in its order."""
    for number, statement in enumerate(tree.body):
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name))
            ) if path.parent == _SHARED:
                pass
            case ast.AnnAssign(
                target=ast.Name(id=name), annotation=ast.Subscript(value=ast.Name(id="Limit"))
            ):
                pass
            case _:
                continue
        if name.isupper():
            yield name, _value(path, name), _text(tree.body[number + 1 : number + 2])


def _value(path: Path, name: str) -> int | float:
    dotted = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    value: int | float = getattr(import_module(dotted.removesuffix(".__init__")), name)
    return value


def _text(following: list[ast.stmt]) -> str:
    match following:
        case [ast.Expr(value=ast.Constant(value=str(text)))]:
            return text.replace("(setting)", "*(setting)*")
    return ""


def _shown(name: str, value: int | float) -> str:
    parts = name.split("_")
    if "BYTES" in parts:
        return f"{size(value)} bytes" if value < 1024 else size(value)
    for unit, factor in (("US", 1), ("MS", 1_000)):
        if parts[-1] == unit:
            return duration(value * factor, value)
    for unit, word in (
        ("S", "seconds"),
        ("MINUTES", "minutes"),
        ("HOURS", "hours"),
        ("DAYS", "days"),
    ):
        if parts[-1] == unit:
            return f"{value:,} {word}"
    return f"{value:,}"

"""The limits, from the texts next to them: a heading for each module of `vedette.limits`."""

import ast
from collections.abc import Iterator
from pathlib import Path

from scripts.reference.markdown import item, paragraph
from scripts.reference.quantity import duration, size
from vedette import limits

_INTRODUCTION = """
Every limit has a reason. Those marked *(setting)* are defaults of the [setting](settings.md) with
the same name in small letters; the others are part of the design.
"""

Limit = tuple[str, int, str]
"""Name, value and text of a limit. The text is "" where none follows the value."""


def documented() -> Iterator[Limit]:
    """Every limit, module by module."""
    for path in _modules():
        yield from _documented(path)


def body() -> str:
    return "\n\n".join([paragraph(_INTRODUCTION), *map(_area, _modules())])


def _modules() -> list[Path]:
    (folder,) = limits.__path__
    return sorted(path for path in Path(folder).glob("*.py") if path.stem != "__init__")


def _area(path: Path) -> str:
    """The limits of a module under its title, which is what its docstring has before a colon."""
    title, _, content = (ast.get_docstring(ast.parse(path.read_text())) or "").partition(": ")
    listed = [
        item(f"`{name}`: {_shown(name, value)}. {text}") for name, value, text in _documented(path)
    ]
    about = paragraph(content[:1].upper() + content[1:])
    return f"## {title}\n\n{about}\n\n" + "\n".join(listed)


def _documented(path: Path) -> Iterator[Limit]:
    """The limits of a module, in its order."""
    statements = ast.parse(path.read_text()).body
    for number, statement in enumerate(statements):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)]):
                following = statements[number + 1] if number + 1 < len(statements) else None
                yield name, getattr(limits, name), _text(following)


def _text(statement: ast.stmt | None) -> str:
    match statement:
        case ast.Expr(value=ast.Constant(value=str(text))):
            return text.replace("(setting)", "*(setting)*")
    return ""


def _shown(name: str, value: int) -> str:
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

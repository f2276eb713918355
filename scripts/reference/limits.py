"""The limits, from the texts next to them."""

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


def documented() -> Iterator[tuple[str, int, str]]:
    """Name, value and text of every limit, in the order of the file. The text is "" where none
    follows the value."""
    assert limits.__file__ is not None
    statements = ast.parse(Path(limits.__file__).read_text()).body
    for number, statement in enumerate(statements):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)]):
                following = statements[number + 1] if number + 1 < len(statements) else None
                yield name, getattr(limits, name), _text(following)


def body() -> str:
    listed = [
        item(f"`{name}`: {_shown(name, value)}. {text}") for name, value, text in documented()
    ]
    return paragraph(_INTRODUCTION) + "\n\n" + "\n".join(listed)


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
    for unit, word in (("S", "seconds"), ("HOURS", "hours")):
        if parts[-1] == unit:
            return f"{value:,} {word}"
    return f"{value:,}"

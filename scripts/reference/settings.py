"""The settings, from their catalogue."""

from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from scripts.reference.markdown import code, item, paragraph
from scripts.reference.quantity import size
from scripts.reference.source import attributes
from vedette.settings import Setting, catalogue

_INTRODUCTION = """
Of these places the later wins: the default, a TOML file, the environment, the command line.
"""

_PLACES = (
    "File: `--config FILE` or `VEDETTE_CONFIG=FILE`, otherwise `vedette.toml` in the data "
    "directory where it exists. One `name = value` a line. Paths in it are relative to the file. "
    "Only a file that was named may set `data`.",
    "Environment: `VEDETTE_` and the name in capitals.",
    "Command line: `vedette serve --set NAME=VALUE`, as often as needed; the most common ones "
    "have options of their own ([commands](commands.md)).",
)

_VALUES = """
Sizes are a number of bytes or a number with a unit, `64 MiB`; a unit counts in steps of 1,024
with or without its `i`. Truth values are true, yes, 1 or false, no, 0. Lists are TOML arrays, or
texts separated by commas. A name or value that cannot be understood stops the start; the message
says where it stands. `vedette config show` prints every setting with its value and where that
came from.
"""


def body() -> str:
    parts = [
        paragraph(_INTRODUCTION),
        "\n".join(map(item, _PLACES)),
        paragraph(_VALUES),
        *map(_section, catalogue().values()),
    ]
    return "\n\n".join(parts)


def _section(setting: Setting) -> str:
    facts = [
        f"Type: {_type(setting)}{_bounds(setting)}",
        f"Default: {_default(setting)}",
        f"Environment: {code(setting.variable)}",
    ]
    if setting.about.alias:
        facts.append(f"Also called: {code(setting.about.alias)}")
    if setting.name not in attributes():
        facts.append("Nothing in this version reads it.")
    text = paragraph(setting.about.text)
    return f"## {setting.name}\n\n{text}\n\n" + "\n".join(map(item, facts))


def _type(setting: Setting) -> str:
    kind: Any = setting.type
    if get_origin(kind) is Literal:
        return "one of " + ", ".join(map(code, get_args(kind)))
    if Path in (kind, *get_args(kind)):
        return "path"
    if get_origin(kind) is tuple:
        return "list of texts"
    if kind is int:
        return f"number of {setting.about.unit}" if setting.about.unit else "number"
    return {bool: "truth value", str: "text"}[kind]


def _bounds(setting: Setting) -> str:
    if setting.type is not int:
        return ""
    least, most = setting.about.least, setting.about.most
    return f", {least:,} to {most:,}" if most is not None else f", at least {least:,}"


def _default(setting: Setting) -> str:
    match setting.default:
        case None | "":
            return "none"
        case bool() as truth:
            return code(str(truth).lower())
        case int() as number:
            return size(number) if setting.about.unit == "bytes" else f"{number:,}"
        case tuple() as texts:
            return ", ".join(map(code, texts))
        case other:
            return code(str(other))

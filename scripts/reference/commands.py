"""The commands, from their declarations."""

from collections.abc import Iterator
from typing import Any

import typer

from scripts.reference.markdown import code, item, paragraph, sentence
from vedette.cli.main import EXIT_REFUSED, app

_INTRODUCTION = f"""
`vedette COMMAND --help` prints the same text. The exit code is 0, {EXIT_REFUSED} for
an error that the operator can fix (reported as one line on standard error), and 1 for a bug.
`--install-completion` and `--show-completion` teach the shell to complete commands.
"""

_SHELL = frozenset({"install_completion", "show_completion"})
"""What these offer depends on where they run."""

Command = Any
"""A command of typer: what it is made of is typer's own."""


def commands() -> Iterator[tuple[str, Command]]:
    """Every command that does something, with its full name, in the order of the help."""
    yield from _walk("vedette", typer.main.get_command(app))


def options(command: Command) -> list[Any]:
    """Its options, without arguments."""
    return [
        param
        for param in command.params
        if param.param_type_name == "option" and param.name not in _SHELL
    ]


def body() -> str:
    root = typer.main.get_command(app)
    parts = [paragraph(_INTRODUCTION), "\n".join(map(_item, options(root)))]
    parts += [_section(name, command) for name, command in commands()]
    return "\n\n".join(parts)


def _walk(name: str, command: Command) -> Iterator[tuple[str, Command]]:
    if not hasattr(command, "list_commands"):
        yield name, command
        return
    for part in command.list_commands(None):
        yield from _walk(f"{name} {part}", command.get_command(None, part))


def _section(name: str, command: Command) -> str:
    arguments = [param for param in command.params if param.param_type_name == "argument"]
    usage = " ".join([name, *map(_usage, arguments), "[OPTIONS]" if options(command) else ""])
    parts = [f"## {name}", f"    {usage.rstrip()}"]
    parts += [paragraph(text) for text in (command.help or "").split("\n\n")]
    listed = [*map(_item, arguments), *map(_item, options(command))]
    if listed:
        parts.append("\n".join(listed))
    return "\n\n".join(parts)


def _usage(argument: Any) -> str:
    shown = argument.metavar or argument.name.upper()
    shown = f"{shown}..." if argument.nargs == -1 and not shown.endswith("...") else shown
    return shown if argument.required else f"[{shown}]"


def _item(param: Any) -> str:
    is_argument = param.param_type_name == "argument"
    names = [_usage(param)] if is_argument else [*param.opts, *param.secondary_opts]
    value = "" if is_argument or param.is_flag else f" {_metavar(param)}"
    text = sentence(param.help or "")
    facts = " ".join(_facts(param, is_argument))
    shown = ", ".join(code(name + value) for name in names)
    return item(f"{shown}: {text} {facts}")


def _metavar(param: Any) -> str:
    return str(param.metavar or param.name.replace("_", "-").upper())


def _facts(param: Any, is_argument: bool) -> Iterator[str]:
    if param.required and not is_argument:
        yield "Required."
    if getattr(param, "multiple", False) and "repeated" not in (param.help or ""):
        yield "May be repeated."
    least, most = getattr(param, "min", None), getattr(param, "max", None)
    if least is not None or most is not None:
        yield _range(least, most)
    if param.envvar:
        yield f"Also from the environment: {code(param.envvar)}."
    if not is_argument and _is_worth_saying(param):
        yield f"Default: {_default(param.default)}."


def _range(least: Any, most: Any) -> str:
    if most is None:
        return f"At least {least:,}."
    return f"At most {most:,}." if least is None else f"From {least:,} to {most:,}."


def _is_worth_saying(param: Any) -> bool:
    if param.is_flag or "default" in (param.help or "").lower():
        return False
    return param.default not in (None, "", ()) and not callable(param.default)


def _default(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int | float) else code(str(value))

"""`vedette yara`: YARA rules for copies of programs, of a server that runs or not. A running server
scans new copies immediately, and older ones in the background."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from vedette.binaries.yara_check import checked_rules
from vedette.cli.options import ConfigOption, DataOption, JsonOption, open_state
from vedette.cli.printing import print_json, print_table, time_text
from vedette.clock import SystemClock
from vedette.limits import YARA_TEXT_BYTES_MAX
from vedette.state.files import yara_rules

app = typer.Typer(no_args_is_help=True)

_BY = "command line"

NamesArgument = Annotated[list[str], typer.Argument(metavar="NAME...", help="Names of rule files.")]


@app.command("add")
def add(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Rules.", exists=True, dir_okay=False)
    ],
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Add rule files, or replace rules with the same name (the file name without its extension)."""
    with open_state(data, config) as database:
        for path in files:
            with path.open("rb") as file:
                text = file.read(YARA_TEXT_BYTES_MAX + 1).decode("utf-8", "replace")
            names = checked_rules(text)
            now_us = SystemClock().now_us()
            saved = yara_rules.save(database, path.stem, _BY, now_us, text=text, enabled=True)
            typer.echo(f"{saved.name}: {len(names)} rules")


@app.command("list")
def list_rules(
    data: DataOption = None, config: ConfigOption = None, as_json: JsonOption = False
) -> None:
    """List all rule texts."""
    with open_state(data, config) as database:
        known = yara_rules.all_rules(database)
    if as_json:
        print_json([asdict(one) for one in known])
        return
    print_table(
        ("name", "enabled", "problem", "changed", "by"),
        [
            (one.name, one.enabled, one.problem, time_text(one.changed_us), one.username)
            for one in known
        ],
    )


@app.command("enable")
def enable(names: NamesArgument, data: DataOption = None, config: ConfigOption = None) -> None:
    """Enable rule texts that are disabled or were stopped."""
    _switch(names, data, config, is_on=True)


@app.command("disable")
def disable(names: NamesArgument, data: DataOption = None, config: ConfigOption = None) -> None:
    """Disable rule texts and delete their matches."""
    _switch(names, data, config, is_on=False)


def _switch(names: list[str], data: Path | None, config: Path | None, *, is_on: bool) -> None:
    with open_state(data, config) as database:
        for name in names:
            yara_rules.save(database, name, _BY, SystemClock().now_us(), enabled=is_on)


@app.command("delete")
def delete(names: NamesArgument, data: DataOption = None, config: ConfigOption = None) -> None:
    """Delete rule texts and their matches."""
    with open_state(data, config) as database:
        for name in names:
            yara_rules.remove(database, name)

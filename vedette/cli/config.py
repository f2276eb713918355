"""`vedette config`: lists settings with value, unit, default, origin and meaning, and checks
whether a server could start with them."""

from pathlib import Path

import typer

from vedette.bootstrap.local_access import read_access
from vedette.cli.doctor import print_findings
from vedette.cli.options import (
    ConfigOption,
    DataOption,
    JsonOption,
    SetOption,
    examine_settings,
    load_settings,
)
from vedette.cli.printing import print_json, print_table
from vedette.clock import SystemClock
from vedette.doctor.config import check_config
from vedette.doctor.finding import Finding, worst
from vedette.errors import StartError
from vedette.settings import catalogue, shown
from vedette.web.server.findings_json import findings_body

app = typer.Typer(no_args_is_help=True)


@app.command("show")
def show(
    data: DataOption = None,
    config: ConfigOption = None,
    assignments: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show every setting with its value, unit, default, description, and the source of the
    value."""
    loaded = load_settings(data, config, assignments)
    values = {
        name: shown(setting, getattr(loaded.settings, name))
        for name, setting in catalogue().items()
    }
    if as_json:
        print_json(
            {
                name: {
                    "value": value,
                    "origin": loaded.origins[name].layer,
                    "place": loaded.origins[name].place,
                    "unit": catalogue()[name].about.unit,
                    "default": shown(catalogue()[name], catalogue()[name].default),
                    "meaning": catalogue()[name].about.text,
                }
                for name, value in values.items()
            }
        )
        return
    rows = [
        (
            name,
            _text(value),
            setting.about.unit,
            _text(shown(setting, setting.default)),
            str(loaded.origins[name]),
            setting.about.text,
        )
        for (name, value), setting in zip(values.items(), catalogue().values(), strict=True)
    ]
    print_table(("setting", "value", "unit", "default", "origin", "meaning"), rows)


@app.command("check")
def check(
    data: DataOption = None,
    config: ConfigOption = None,
    assignments: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check whether a server could start with these settings. Changes nothing.

    Reports every unknown or invalid entry with its position, and checks files, data directory,
    certificate, port and databases. Exit code 2: it could not start; else 0.
    """
    examined = examine_settings(data, config, assignments)
    findings = [
        Finding(
            "settings", "error", text, "fix or remove it; `vedette config show` lists all settings"
        )
        for text in examined.problems
    ]
    place = examined.loaded.settings.data
    is_running = place.is_dir() and _runs(place)
    findings += check_config(
        examined.loaded, SystemClock().now_us(), is_running=is_running, wrong=examined.wrong
    )
    if as_json:
        print_json(findings_body(findings, is_running=False)["findings"])
    else:
        print_findings(findings)
    raise typer.Exit(2 if worst(findings) == "error" else 0)


def _runs(data: Path) -> bool:
    try:
        return read_access(data) is not None
    except StartError:  # it belongs to another user
        return False


def _text(value: object) -> object:
    match value:
        case bool():
            return str(value).lower()
        case list():
            return ", ".join(value)
        case _:
            return value

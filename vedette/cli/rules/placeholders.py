"""`vedette sigma placeholder`: values of the placeholders of a server's Sigma rules."""

from typing import Annotated, Final

import typer

from vedette.alerting.rule_import import compile_anew
from vedette.cli.options import ConfigOption, DataOption, JsonOption, open_state
from vedette.cli.printing import print_json, print_table
from vedette.clock import SystemClock
from vedette.state.policy import rule_placeholders
from vedette.web.rules.models import placeholder_values

_BY: Final = "command line"


def placeholder(
    name: Annotated[
        str,
        typer.Argument(metavar="[NAME]", help="Name between the % signs; without it, list all."),
    ] = "",
    values: Annotated[
        list[str] | None,
        typer.Argument(metavar="[VALUE...]", help="All values of the placeholder."),
    ] = None,
    delete: Annotated[bool, typer.Option("--delete", help="Delete the placeholder.")] = False,
    data: DataOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Set the values of a placeholder in rules (`|expand`, %NAME%). The server recompiles the
    rules that name it."""
    with open_state(data, config) as database:
        if name and delete:
            rule_placeholders.remove(database, name)
        elif name:
            given = placeholder_values(name, {"values": values or []})
            rule_placeholders.put(database, name, given, _BY, SystemClock().now_us())
        else:
            known = rule_placeholders.listed(database)
            if as_json:
                print_json({one.name: list(one.values) for one in known})
            else:
                print_table(
                    ("name", "values"), [(one.name, ", ".join(one.values)) for one in known]
                )
            return
        typer.echo(f"{compile_anew(database)} rules recompiled")

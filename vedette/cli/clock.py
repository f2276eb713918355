"""`vedette clock`: the server's clock, when it is in doubt."""

import typer

from vedette.cli.options import ConfigOption, DataOption, open_state
from vedette.state.clock.record import confirm_clock

app = typer.Typer(no_args_is_help=True)


@app.callback()
def clock() -> None:
    """The server's clock, when it is in doubt."""


@app.command("confirm")
def confirm(data: DataOption = None, config: ConfigOption = None) -> None:
    """Confirm that the server's present time is right. The server then accepts telemetry and
    deletes by age again."""
    with open_state(data, config) as database:
        confirm_clock(database)
    typer.echo("confirmed; a running server applies it within seconds")

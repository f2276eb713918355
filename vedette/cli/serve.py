"""`vedette serve`: runs the server until SIGINT or SIGTERM."""

from typing import Annotated

import typer

from vedette.cli.loading import loading
from vedette.cli.options import ConfigOption, DataOption, SetOption, load_settings, operator


def serve(
    data: DataOption = None,
    config: ConfigOption = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port; 0 lets the system choose.")] = None,
    http: Annotated[
        bool, typer.Option("--http", help="Serve plain HTTP instead of HTTPS, on loopback only.")
    ] = False,
    accept_store: Annotated[
        bool,
        typer.Option(
            "--accept-store",
            help="Start once although state database and telemetry do not match, and accept the "
            "loss of damaged parts.",
        ),
    ] = False,
    assignments: SetOption = None,
) -> None:
    """Run the server. The first start prints an administrator's token, once."""
    with loading():
        from vedette.bootstrap.serving import serve as run_server

    loaded = load_settings(
        data,
        config,
        assignments,
        listen_host=host,
        listen_port=port,
        http=http or None,
    )
    run_server(loaded, accepted_by=operator() if accept_store else None)

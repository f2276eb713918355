"""`vedette alerts`: alerts of a running server."""

import time
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Final
from urllib.parse import urlencode

import typer
from rich.console import Console
from rich.progress import Progress

from vedette.cli.cloud.alert_export import (
    Checkpoint,
    export,
    instant,
    moment,
    read_checkpoint,
)
from vedette.cli.cloud.alert_search import AlertSearch, Find, local_server, remote_server
from vedette.cli.cloud.export_files import ExportFiles, locked, open_files
from vedette.cli.options import ConfigOption, DataOption, load_settings
from vedette.errors import BadRequestError
from vedette.limits import ALERT_V7_ROWS_MAX, Limit

ALERT_EXPORT_LAG_S: Limit[int] = 60
"""Seconds by which an export lags behind the clock, because newer alerts may not all be visible."""

ALERT_EXPORT_FOLLOW_S: Limit[float] = 10.0
"""Seconds between polls of `vedette alerts export --follow`."""


app = typer.Typer(no_args_is_help=True)

_KINDS: Final = {"jsonl": "file", "parquet": "directory"}


@app.callback()
def alerts() -> None:
    """Alerts of the running server."""


@app.command("export")
def export_alerts(
    output: Annotated[
        Path, typer.Argument(metavar="FILE", help="JSON Lines file or Parquet directory.")
    ],
    begin: Annotated[
        str,
        typer.Option("--from", metavar="TIME", help="Start time (ISO 8601, UTC); first run only."),
    ] = "",
    end: Annotated[
        str,
        typer.Option("--to", metavar="TIME", help="End time, exclusive; default: one minute ago."),
    ] = "",
    checkpoint: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Default: FILE.checkpoint.")
    ] = None,
    file_format: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help="Format: jsonl or parquet.")
    ] = "jsonl",
    follow: Annotated[bool, typer.Option("--follow", help="Keep running until stopped.")] = False,
    rows: Annotated[
        int, typer.Option(min=2, max=ALERT_V7_ROWS_MAX, help="Alerts per request.")
    ] = ALERT_V7_ROWS_MAX,
    server: Annotated[
        str, typer.Option(metavar="URL", help="URL of another machine, such as a load balancer.")
    ] = "",
    token_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File with an API token for --server.")
    ] = None,
    ca: Annotated[
        Path | None, typer.Option(metavar="FILE", help="CA certificate for --server.")
    ] = None,
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Export alerts by creation time. Running the command again continues the export."""
    if file_format not in ("jsonl", "parquet"):
        raise BadRequestError("--format: must be jsonl or parquet")
    if follow and end:
        raise BadRequestError("--follow and --to cannot be combined")
    if output.exists() and output.is_dir() is (file_format == "jsonl"):
        raise BadRequestError(
            f"{output}: {file_format} is a {_KINDS[file_format]}, and this is none"
        )
    kept = checkpoint or output.with_name(output.name + ".checkpoint")
    settings = load_settings(data, config).settings
    find = _server(settings.data, server, token_file, ca)
    with locked(kept):
        first = last = _first(output, kept, begin)
        with (
            closing(AlertSearch(find, settings.org_key, waits_forever=follow)) as search,
            open_files(output, file_format, first.size) as files,
        ):
            span = {"from": first.at, "to": end, "follow": "true" if follow else ""}
            search.begin_export(urlencode({k: v for k, v in span.items() if v}), file_format)
            while True:
                last = _export(search, files, kept, last, end, rows)
                if not follow:
                    break
                time.sleep(ALERT_EXPORT_FOLLOW_S)
    typer.echo(f"{last.rows - first.rows} alerts, up to {last.at}", err=True)


def _export(
    search: AlertSearch, files: ExportFiles, kept: Path, first: Checkpoint, end: str, rows: int
) -> Checkpoint:
    """Exports up to a minute ago, or to `end`. Returns the checkpoint to continue from."""
    settled = search.now() - timedelta(seconds=ALERT_EXPORT_LAG_S)
    until = min(moment(end), settled) if end else settled
    since, last = moment(first.at), first
    console = Console(stderr=True)
    with Progress(console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("alerts", total=max((until - since).total_seconds(), 0))
        for last in export(search, files, kept, first, until, rows):
            done = (moment(last.at) - since).total_seconds()
            bar.update(task, completed=done, description=f"{last.rows:,} alerts")
    return last


def _server(data: Path, url: str, token_file: Path | None, ca: Path | None) -> Find:
    if url and token_file is not None:
        return remote_server(url, token_file, ca)
    if url or token_file is not None or ca is not None:
        raise BadRequestError("--server requires --token-file; --ca requires both")
    return local_server(data)


def _first(output: Path, kept: Path, begin: str) -> Checkpoint:
    found = read_checkpoint(kept)
    if found is not None:
        return found
    if (output.is_dir() and any(output.iterdir())) or (output.is_file() and output.stat().st_size):
        raise BadRequestError(f"{output} exists, and has no checkpoint in {kept}")
    if not begin:
        raise BadRequestError("a new export needs --from")
    return Checkpoint(instant(moment(begin)))

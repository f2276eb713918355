"""`vedette alerts`: alerts of the running server."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import httpx
import typer
from rich.console import Console
from rich.progress import Progress

from vedette.bootstrap.local_access import read_access
from vedette.cli.cloud.alert_export import (
    Checkpoint,
    Search,
    export,
    instant,
    moment,
    read_checkpoint,
)
from vedette.cli.options import ConfigOption, DataOption, load_settings
from vedette.errors import BadRequestError, StartError, UnavailableError
from vedette.limits import ALERT_EXPORT_LAG_S, ALERT_EXPORT_REQUEST_S, ALERT_V7_ROWS_MAX
from vedette.simulate.bulk_client import tls_context

app = typer.Typer(no_args_is_help=True)


@app.callback()
def alerts() -> None:
    """Alerts of the running server."""


@app.command("export")
def export_alerts(
    output: Annotated[Path, typer.Argument(metavar="FILE", help="File of JSON lines.")],
    begin: Annotated[
        str, typer.Option("--from", metavar="TIME", help="ISO 8601, UTC; the first time only.")
    ] = "",
    end: Annotated[
        str, typer.Option("--to", metavar="TIME", help="Not in it; default: a minute ago.")
    ] = "",
    checkpoint: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Default: FILE.checkpoint.")
    ] = None,
    rows: Annotated[
        int, typer.Option(min=2, max=ALERT_V7_ROWS_MAX, help="Alerts a request.")
    ] = ALERT_V7_ROWS_MAX,
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Export alerts by the time they were made; the same command again goes on."""
    kept = checkpoint or output.with_name(output.name + ".checkpoint")
    first = _first(output, kept, begin)
    settled = datetime.now(UTC) - timedelta(seconds=ALERT_EXPORT_LAG_S)
    until = min(moment(end), settled) if end else settled
    since, last = moment(first.at), first
    console = Console(stderr=True)
    with (
        _search(data, config) as search,
        Progress(console=console, disable=not console.is_terminal) as bar,
    ):
        task = bar.add_task("alerts", total=max((until - since).total_seconds(), 0))
        for last in export(search, output, kept, first, until, rows):
            done = (moment(last.at) - since).total_seconds()
            bar.update(task, completed=done, description=f"{last.rows:,} alerts")
    typer.echo(f"{last.rows - first.rows} alerts, up to {last.at}", err=True)


def _first(output: Path, kept: Path, begin: str) -> Checkpoint:
    found = read_checkpoint(kept)
    if found is not None:
        return found
    if output.exists() and output.stat().st_size:
        raise BadRequestError(f"{output} exists, and has no checkpoint in {kept}")
    if not begin:
        raise BadRequestError("a new export needs --from")
    return Checkpoint(instant(moment(begin)))


@contextmanager
def _search(data: Path | None, config: Path | None) -> Iterator[Search]:
    """Asks the server that runs on a data directory. Raises StartError when none does."""
    settings = load_settings(data, config).settings
    access = read_access(settings.data)
    if access is None:
        raise StartError(f"no server runs on {settings.data}: start one with vedette serve")
    path = f"/api/alerts/v7/orgs/{settings.org_key}/alerts/_search"
    with httpx.Client(
        base_url=access.url,
        headers={"X-Auth-Token": access.token},
        verify=tls_context(Path(access.certificate) if access.certificate else None),
        timeout=ALERT_EXPORT_REQUEST_S,
    ) as client:

        def search(body: dict[str, Any]) -> list[dict[str, Any]]:
            answer = client.post(path, json=body)
            if not answer.is_success:
                raise BadRequestError(f"the server answered {answer.status_code}: {answer.text}")
            found: list[dict[str, Any]] = answer.json()["results"]
            return found

        try:
            yield search
        except httpx.HTTPError as error:
            raise UnavailableError(f"the server does not answer: {error}") from None

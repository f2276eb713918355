"""`vedette feed`: feeds of the running server, and feed documents."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, TextIO

import httpx
import typer

from vedette.cli.options import ConfigOption, DataOption, JsonOption
from vedette.cli.printing import print_json, print_table
from vedette.cli.running_server import answered, running_server
from vedette.errors import BadRequestError
from vedette.feeds.export import exported_info, exported_reports
from vedette.feeds.formats.documents import read_items
from vedette.feeds.formats.json_pieces import BrokenDocumentError
from vedette.limits import FEED_PIECE_BYTES, REPORT_IOCS_SHOWN_MAX, Limit
from vedette.model.threat.feed import BrokenPart, FeedInfo, Report

FEED_ERRORS_SHOWN: Limit[int] = 100
"""Errors of a document that `vedette feed validate` prints; all are counted."""

REPORT_EXPORT_ROWS: Limit[int] = 500
"""Reports per request of `vedette feed export`."""


app = typer.Typer(no_args_is_help=True)

FeedArgument = Annotated[str, typer.Argument(metavar="FEED", help="Id or name of the feed.")]


@app.command("add")
def add(
    url: Annotated[str, typer.Argument(metavar="URL", help="file://, http:// or https:// URL.")],
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Internal name; default: from the feed.")
    ] = None,
    disabled: Annotated[bool, typer.Option("--disabled", help="Add without fetching.")] = False,
    username: Annotated[
        str | None, typer.Option(metavar="NAME", help="User name for the server.")
    ] = None,
    password_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File whose first line is the password.")
    ] = None,
    proxy: Annotated[bool, typer.Option("--proxy", help="Fetch through feed_proxy.")] = False,
    unchecked: Annotated[
        bool, typer.Option("--no-check", help="Do not check the server's certificate.")
    ] = False,
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Add a feed to the running server."""
    body: dict[str, Any] = {"feed_url": url, "enabled": not disabled}
    given = {"name": name, "username": username, "use_proxy": proxy or None}
    body |= {key: value for key, value in given.items() if value is not None}
    if unchecked:
        body["validate_server_cert"] = False
    if password_file is not None:
        body["password"] = _first_line(password_file)
    with running_server(data, config) as server:
        made = answered(server.post("/api/v1/feed", json=body))
    typer.echo(f"added feed {made['id']}: {made['name']}")


@app.command("list")
def list_feeds(
    data: DataOption = None, config: ConfigOption = None, as_json: JsonOption = False
) -> None:
    """List all feeds with the result of their last synchronization."""
    with running_server(data, config) as server:
        found = answered(server.get("/api/v1/feed"))
    if as_json:
        print_json(found)
        return
    headings = ("id", "name", "enabled", "reports", "indicators", "synchronised", "problem")
    print_table(
        headings,
        [
            (
                one["id"],
                one["name"],
                one["enabled"],
                one["report_count"],
                one["ioc_count"],
                (one["last_sync"] or "")[:19],
                one["last_error"] or (f"{one['error_count']} errors" if one["error_count"] else ""),
            )
            for one in found
        ],
    )


@app.command("sync")
def sync(
    feed: FeedArgument,
    full: Annotated[
        bool, typer.Option("--full", help="Full synchronization: also delete removed reports.")
    ] = False,
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Request the synchronization of a feed."""
    with running_server(data, config) as server:
        known = _feed(server, feed)
        answered(server.post(f"/api/v1/feed/{known['id']}/synchronize", json={"full_sync": full}))
    typer.echo(f"feed {known['name']} will be synchronized")


@app.command("export")
def export(
    feed: FeedArgument,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Output file; default: standard output."
        ),
    ] = None,
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Write the stored reports of a feed as a document that other servers can read (cbfeeds)."""
    with running_server(data, config) as server:
        known = _feed(server, feed)
        if output is None:
            left_out = _export(server, known, sys.stdout)
        else:
            with output.open("w", encoding="utf-8") as file:
                left_out = _export(server, known, file)
    if left_out:
        typer.echo(f"skipped: {left_out} indicators that the format does not allow", err=True)


@app.command("validate")
def validate(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Document of a feed.")],
) -> None:
    """Read a document like the server does, and print its errors. Exit code 2: it has errors."""
    counts = {"reports": 0, "iocs": 0, "errors": 0}
    try:
        with file.open("rb") as opened:
            name, items = read_items(iter(lambda: opened.read(FEED_PIECE_BYTES), b""))
            for item in items:
                match item:
                    case Report():
                        counts["reports"] += 1
                        counts["iocs"] += len(item.iocs)
                    case BrokenPart():
                        counts["errors"] += 1
                        if counts["errors"] <= FEED_ERRORS_SHOWN:
                            typer.echo(f"{item.place}: {item.problem}")
                    case FeedInfo():
                        pass
    except OSError as error:
        raise BadRequestError(f"{file}: {error.strerror}") from None
    typer.echo(f"{name}: {counts['reports']} reports, {counts['iocs']} indicators")
    if counts["errors"]:
        raise BrokenDocumentError(f"{counts['errors']} errors")


def _export(server: httpx.Client, feed: dict[str, Any], file: TextIO) -> int:
    """Writes a document report by report. Returns the number of omitted indicators."""
    file.write(f'{{"feedinfo": {json.dumps(exported_info(feed))}, "reports": [')
    left_out, separator = 0, "\n"
    for one in _reports(server, feed["id"]):
        found, less = exported_reports(one)
        left_out += less
        for body in found:
            file.write(separator + json.dumps(body))
            separator = ",\n"
    file.write("\n]}\n")
    return left_out


def _reports(server: httpx.Client, feed_id: int) -> Iterator[dict[str, Any]]:
    base, after = f"/api/v1/feed/{feed_id}/report", ""
    while True:
        params: dict[str, str | int] = {"rows": REPORT_EXPORT_ROWS, "after": after}
        page = answered(server.get(base, params=params))
        for one in page:
            is_cut = one["ioc_count"] > REPORT_IOCS_SHOWN_MAX
            yield answered(server.get(f"{base}/{one['id']}")) if is_cut else one
        if len(page) < REPORT_EXPORT_ROWS:
            return
        after = page[-1]["id"]


def _feed(server: httpx.Client, text: str) -> dict[str, Any]:
    """Returns a feed by id or by name, ignoring case. Raises BadRequestError."""
    for one in answered(server.get("/api/v1/feed")):
        if text in (str(one["id"]), one["name"]) or text.lower() == one["name"].lower():
            found: dict[str, Any] = one
            return found
    raise BadRequestError(f"feed {text[:80]!r} not found")


def _first_line(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").splitlines()[0]
    except (OSError, IndexError) as error:
        raise BadRequestError(f"{path}: contains no password: {error}") from None

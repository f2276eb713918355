"""`vedette forwarder`: forwarders of the running server (docs/forwarder.md)."""

import tomllib
from pathlib import Path
from typing import Annotated, Any

import httpx
import typer

from vedette.cli.options import ConfigOption, DataOption, JsonOption, load_settings
from vedette.cli.printing import print_json, print_table
from vedette.cli.running_server import answered, running_server
from vedette.errors import BadRequestError
from vedette.limits import Limit

FORWARDER_FILE_BYTES_MAX: Limit[int] = 1 << 20
"""Bytes of a file that configures forwarders."""


app = typer.Typer(no_args_is_help=True)

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Name or id of the forwarder.")]


@app.callback()
def forwarder() -> None:
    """Forwarders of the running server."""


@app.command("add")
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the forwarder.")],
    kind: Annotated[
        str, typer.Option("--to", metavar="KIND", help="directory, s3, https or kafka.")
    ],
    record_type: Annotated[
        list[str] | None,
        typer.Option(
            "--type",
            metavar="TYPE",
            help="alert (default), watchlist.hit, or endpoint.event; repeatable.",
        ),
    ] = None,
    member: Annotated[
        list[str] | None,
        typer.Option("--with", metavar="NAME=VALUE", help="Destination property."),
    ] = None,
    secret_file: Annotated[
        list[str] | None,
        typer.Option(
            "--secret", metavar="NAME=FILE", help="Destination property read from a file."
        ),
    ] = None,
    query: Annotated[str, typer.Option(help="Query that selects records.")] = "",
    schema: Annotated[str | None, typer.Option(help="native (default) or ocsf.")] = None,
    file_format: Annotated[
        str | None, typer.Option("--format", help="jsonl (default) or parquet.")
    ] = None,
    path: Annotated[str | None, typer.Option(metavar="TEMPLATE", help="Path of the files.")] = None,
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help="Start time (ISO 8601).")
    ] = None,
    interval: Annotated[
        int | None, typer.Option(metavar="SECONDS", help="Polling interval.")
    ] = None,
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Add a forwarder to the running server."""
    secrets = {key: _secret(Path(file)) for key, file in _pairs(secret_file, "--secret").items()}
    body: dict[str, Any] = {
        "name": name,
        "types": record_type or ["alert"],
        "destination": {"kind": kind, **_pairs(member, "--with"), **secrets},
        "query": query,
        "schema": schema,
        "format": file_format,
        "path": path,
        "since": since,
        "interval_s": interval,
    }
    with running_server(data, config) as server:
        made = answered(server.post(_base(data, config), json=_given(body)))
    typer.echo(f"added forwarder {made['id']}: {made['name']}")


@app.command("apply")
def apply(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="TOML with [[forwarder]] tables.")],
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Add the forwarders in a file; change existing forwarders with the same names."""
    wanted = _forwarders_in(file)
    with running_server(data, config) as server:
        base = _base(data, config)
        known = {one["name"]: one["id"] for one in answered(server.get(base))["results"]}
        for one in wanted:
            if one["name"] in known:
                answered(server.put(f"{base}/{known[one['name']]}", json=one))
                typer.echo(f"changed forwarder {one['name']}")
            else:
                answered(server.post(base, json=one))
                typer.echo(f"added forwarder {one['name']}")


@app.command("list")
def list_forwarders(
    data: DataOption = None, config: ConfigOption = None, as_json: JsonOption = False
) -> None:
    """List all forwarders with their status."""
    with running_server(data, config) as server:
        found = answered(server.get(_base(data, config)))["results"]
    if as_json:
        print_json(found)
        return
    headings = ("name", "to", "type", "state", "records", "last sent", "problem")
    rows = [
        (
            one["name"],
            one["destination"]["kind"],
            stream["type"],
            stream["state"] if one["enabled"] else "disabled",
            stream["records"],
            (stream["sent"] or "")[:19],
            stream["error"],
        )
        for one in found
        for stream in one["streams"]
    ]
    print_table(headings, rows)


@app.command("test")
def send_test(name: NameArgument, data: DataOption = None, config: ConfigOption = None) -> None:
    """Send a file with a test record, and show the receiver's error."""
    with running_server(data, config) as server:
        path = f"{_found(server, _base(data, config), name)}/healthcheck"
        answer = answered(server.post(path))
    if not answer["healthy"]:
        raise BadRequestError(f"{name}: {answer['error']}")
    typer.echo(f"sent to {name}")


@app.command("enable")
def enable(name: NameArgument, data: DataOption = None, config: ConfigOption = None) -> None:
    """Enable a forwarder. It continues where it stopped, and retries a failed file at once."""
    with running_server(data, config) as server:
        path = _found(server, _base(data, config), name)
        answered(server.put(path, json={"enabled": True}))
    typer.echo(f"enabled {name}")


@app.command("disable")
def disable(name: NameArgument, data: DataOption = None, config: ConfigOption = None) -> None:
    """Disable a forwarder after the file that it is sending."""
    with running_server(data, config) as server:
        path = _found(server, _base(data, config), name)
        answered(server.put(path, json={"enabled": False}))
    typer.echo(f"disabled {name}")


@app.command("delete")
def delete(name: NameArgument, data: DataOption = None, config: ConfigOption = None) -> None:
    """Delete a forwarder. Keeps the data at the receiver."""
    with running_server(data, config) as server:
        answered(server.delete(_found(server, _base(data, config), name)))
    typer.echo(f"deleted {name}")


def _base(data: Path | None, config: Path | None) -> str:
    settings = load_settings(data, config).settings
    return f"/data_forwarder/v2/orgs/{settings.org_key}/configs"


def _found(server: httpx.Client, base: str, name: str) -> str:
    """Returns the path of the forwarder with a name or id. Raises BadRequestError."""
    for one in answered(server.get(base))["results"]:
        if name in (one["name"], one["id"]):
            return f"{base}/{one['id']}"
    raise BadRequestError(f"forwarder {name!r} not found")


def _forwarders_in(file: Path) -> list[dict[str, Any]]:
    try:
        with file.open("rb") as opened:
            text = opened.read(FORWARDER_FILE_BYTES_MAX + 1)
        if len(text) > FORWARDER_FILE_BYTES_MAX:
            raise BadRequestError(f"{file}: more than {FORWARDER_FILE_BYTES_MAX:,} bytes")
        found: Any = tomllib.loads(text.decode()).get("forwarder")
    except (OSError, ValueError) as error:
        raise BadRequestError(f"{file}: {error}") from None
    is_good = isinstance(found, list) and all(
        isinstance(one, dict) and isinstance(one.get("name"), str) for one in found
    )
    if not is_good:
        raise BadRequestError(f"{file}: needs [[forwarder]] tables, each with a name")
    return [one | ({"since": str(one["since"])} if "since" in one else {}) for one in found]


def _pairs(given: list[str] | None, option: str) -> dict[str, str]:
    pairs = {}
    for text in given or ():
        name, equals, value = text.partition("=")
        if not equals:
            raise BadRequestError(f"{option} {name}: must be NAME=VALUE")
        pairs[name] = value
    return pairs


def _secret(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8").splitlines()[0]
    except (OSError, ValueError, IndexError) as error:
        raise BadRequestError(f"{file}: contains no secret: {error}") from None


def _given(body: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if value is not None}

"""`vedette completeness`: checks that all sent records are stored, and issues signed
certificates."""

import os
from pathlib import Path
from typing import Annotated, Any

import httpx
import orjson
import typer

from vedette.bootstrap.local_access import read_access
from vedette.cli.options import ConfigOption, DataOption, JsonOption, load_settings, open_state
from vedette.cli.printing import print_json, print_table
from vedette.cli.server_process import api_client
from vedette.errors import StartError
from vedette.limits import Limit
from vedette.state.sensors.statement_signing import statement_public_key, verify_signed

COMPLETENESS_REQUEST_S: Limit[float] = 330.0
"""Timeout of a completeness request (s): slightly more than the longest search deadline."""


app = typer.Typer(no_args_is_help=True)

FromOption = Annotated[
    str, typer.Option("--from", metavar="TIME", help="Start of arrival time, e.g. -24h or a time.")
]
ToOption = Annotated[
    str, typer.Option("--to", metavar="TIME", help="End of arrival time; default: now.")
]
SensorOption = Annotated[int | None, typer.Option("--sensor", help="Only the sensor with this id.")]
GroupOption = Annotated[int | None, typer.Option("--group", help="Only the group with this id.")]
HostOption = Annotated[str, typer.Option("--host", help="Only hosts whose name contains this.")]


@app.command("show")
def show(
    from_: FromOption = "-24h",
    to: ToOption = "",
    sensor: SensorOption = None,
    group: GroupOption = None,
    host: HostOption = "",
    data: DataOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show which records are missing, from the sequence numbers of hosts. Exit code 1: some are
    missing."""
    params = _params(from_, to, sensor, group, host) | {"rows": "1000"}
    body = _asked("/api/v1/completeness", params, data, config)
    if as_json:
        print_json(body)
    else:
        print_table(("host", "what", "verdict", "received", "missing", "gaps"), _lines(body))
        _warn(body)
    raise typer.Exit(_exit_code(body))


@app.command("certificate")
def certificate(
    file: Annotated[Path, typer.Argument(help="Output file.")],
    from_: FromOption,
    to: ToOption = "",
    sensor: SensorOption = None,
    group: GroupOption = None,
    host: HostOption = "",
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Write the missing records as a statement that the server signs, for an incident's file."""
    params = _params(from_, to, sensor, group, host)
    body = _asked("/api/v1/completeness/certificate", params, data, config)
    with os.fdopen(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as out:
        out.write(orjson.dumps(body, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    typer.echo(f"wrote {file}; signed with key {body['public_key']}")


@app.command("verify")
def verify(
    file: Annotated[Path, typer.Argument(help="A certificate.", exists=True, dir_okay=False)],
    key: Annotated[
        str, typer.Option(help="Public key of the server; default: of the server in --data.")
    ] = "",
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Check who signed a certificate, and print its content."""
    if not key:
        with open_state(data, config) as database:
            key = statement_public_key(database)
    statement = verify_signed(file.read_bytes(), key)
    if statement.get("kind") != "completeness":
        raise StartError(f"{file} is a signed statement but not a completeness certificate")
    typer.echo(f"signed with the key {key} on {statement['made']} for {statement['made_for']}")
    typer.echo(f"records received from {statement['from']} to {statement['to']}:")
    print_table(("host", "what", "verdict", "received", "missing", "gaps"), _lines(statement))
    _warn(statement)


@app.command("key")
def public_key(data: DataOption = None, config: ConfigOption = None) -> None:
    """Print the public key that verifies certificates. Store it apart from the server."""
    with open_state(data, config) as database:
        typer.echo(statement_public_key(database))


def _params(
    from_: str, to: str, sensor: int | None, group: int | None, host: str
) -> dict[str, str]:
    given = {"from": from_, "to": to, "hostname": host}
    given |= {"sensor_id": str(sensor or ""), "group_id": str(group or "")}
    return {name: value for name, value in given.items() if value}


def _asked(
    path: str, params: dict[str, str], data: Path | None, config: Path | None
) -> dict[str, Any]:
    settings = load_settings(data, config).settings
    running = read_access(settings.data)
    if running is None:
        raise StartError(f"no server runs on {settings.data}: start it or set --data")
    try:
        with api_client(running, COMPLETENESS_REQUEST_S) as client:
            answer = client.get(path, params=params)
            body: dict[str, Any] = answer.json()
    except (httpx.HTTPError, ValueError) as error:
        raise StartError(f"the server at {running.url} does not respond: {error}") from None
    if not answer.is_success:
        raise StartError(str(body.get("message", answer.status_code)))
    return body


def _lines(body: dict[str, Any]) -> list[tuple[str, ...]]:
    lines = []
    for sensor in body["sensors"]:
        host = sensor["hostname"]
        parts = [_line(host, one["channel"], one) for one in sensor["channels"]]
        parts += [
            _line(host, f"blocks of {one['epoch']}", {**one, "received": one["received_to"]})
            for one in sensor["queues"]
        ]
        lines += parts or [(host, "", sensor["verdict"], "", "", "")]
    return lines


def _line(host: str, what: str, one: dict[str, Any]) -> tuple[str, ...]:
    verdict = one.get("verdict") or ("gaps" if one["missing"] else "complete")
    gaps = ", ".join(f"{gap['first']}-{gap['last']}" for gap in one["gaps"][:5])
    more = ", ..." if len(one["gaps"]) > 5 else ""
    return host, what, verdict, str(one["received"]), str(one["missing"]), gaps + more


def _warn(body: dict[str, Any]) -> None:
    if body["unmounted_partitions"]:
        names = ", ".join(body["unmounted_partitions"])
        typer.echo(f"skipped (unmounted): {names}", err=True)


def _exit_code(body: dict[str, Any]) -> int:
    return int(any(name in body["verdicts"] for name in ("gaps", "refused")))

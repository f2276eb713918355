"""`vedette binary`: files of programs."""

import base64
import ssl
from pathlib import Path
from typing import Annotated, Any

import httpx
import msgspec
import typer

from vedette.binaries.file_facts import FileFacts
from vedette.binaries.file_reader import FileReader
from vedette.binaries.trust_store import load_trust
from vedette.bootstrap.local_access import LocalAccess, read_access
from vedette.cli.options import ConfigOption, DataOption, load_settings, local_headers
from vedette.cli.printing import print_json
from vedette.errors import BadRequestError, StartError, UnavailableError, VedetteError
from vedette.limits import COPIED_FILE_BYTES_MAX, Limit

BINARY_ADD_S: Limit[int] = 120
"""Timeout (s) for the server to accept a file that the command line adds."""


app = typer.Typer(no_args_is_help=True)


@app.command("read")
def read(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Programs.", exists=True, dir_okay=False)
    ],
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Print what the server reads from the bytes of programs. Stores nothing."""
    settings = load_settings(data, config).settings
    reader = FileReader(load_trust(settings.signature_roots, settings.signature_distrusted))
    try:
        for path in files:
            size = path.stat().st_size
            with path.open("rb") as file:
                facts = reader.read(
                    file,
                    min(size, COPIED_FILE_BYTES_MAX),
                    is_whole=size <= COPIED_FILE_BYTES_MAX,
                )
            print_json({"path": str(path), **_shown(facts)})
    finally:
        reader.close()


@app.command("add")
def add(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Programs.", exists=True, dir_okay=False)
    ],
    shared: Annotated[
        bool,
        typer.Option(
            "--shared",
            help="Let every user who sees a host that reports the file download this copy.",
        ),
    ] = False,
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Upload files to the running server, which stores and reads them like files from sensors.
    Without --shared, only global administrators see them."""
    access = read_access(load_settings(data, config).settings.data)
    if access is None or not access.token:
        raise StartError("no running server with an administrator; start one with vedette serve")
    failed = 0
    with _client(access) as client:
        for path in files:
            try:
                typer.echo(f"{_add(client, path, shared)} {path}")
            except VedetteError as error:
                typer.echo(f"{path}: {error}", err=True)
                failed += 1
    if failed:
        raise typer.Exit(1)


def _add(client: httpx.Client, path: Path, shared: bool) -> str:
    """Sends a file and returns its MD5. Raises BadRequestError and UnavailableError."""
    with path.open("rb") as file:
        content = file.read(COPIED_FILE_BYTES_MAX + 1) if path.is_file() else b""
    if len(content) > COPIED_FILE_BYTES_MAX:
        raise BadRequestError(f"over {COPIED_FILE_BYTES_MAX >> 20} MiB")
    asked = {"name": path.name, "shared": str(shared).lower()}
    try:
        answer = client.post("/api/v1/binary/file", params=asked, content=content)
    except httpx.TransportError as error:
        raise UnavailableError(f"the server does not respond: {error}") from None
    if answer.status_code != httpx.codes.OK:
        raise BadRequestError(answer.json()["message"])
    return str(answer.json()["md5"])


def _client(access: LocalAccess) -> httpx.Client:
    trust = ssl.create_default_context(cafile=access.certificate) if access.certificate else False
    return httpx.Client(
        base_url=access.url,
        headers=local_headers(access),
        verify=trust,
        timeout=BINARY_ADD_S,
        trust_env=False,
    )


def _shown(facts: FileFacts) -> dict[str, Any]:
    shown: dict[str, Any] = msgspec.to_builtins(facts, builtin_types=(bytes,))
    shown["icon"] = base64.b64encode(facts.icon).decode()
    return shown

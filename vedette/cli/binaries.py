"""`vedette binary`: files of programs."""

import base64
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from vedette.binaries.file_facts import FileFacts
from vedette.binaries.file_reader import FileReader
from vedette.binaries.trust_store import load_trust
from vedette.cli.options import ConfigOption, DataOption, load_settings
from vedette.cli.printing import print_json
from vedette.limits import COPIED_FILE_BYTES_MAX

app = typer.Typer(no_args_is_help=True)


@app.command("read")
def read(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Programs.", exists=True, dir_okay=False)
    ],
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Print what the bytes of programs say, as the server reads them. Nothing is stored."""
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


def _shown(facts: FileFacts) -> dict[str, Any]:
    shown: dict[str, Any] = msgspec.to_builtins(facts, builtin_types=(bytes,))
    shown["icon"] = base64.b64encode(facts.icon).decode()
    return shown

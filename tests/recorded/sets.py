"""Where the recorded sets are. They lie next to the repository and are never copied into it."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

_SHARED = Path(os.environ.get("VEDETTE_SHARED") or Path(__file__).parents[3] / "shared")

FOLDER = _SHARED / "data" / "telemetry"

_MANIFEST = FOLDER / "manifest.json"

MANIFEST: dict[str, dict[str, Any]] = (
    {entry["id"]: entry for entry in json.loads(_MANIFEST.read_text())}
    if _MANIFEST.exists()
    else {}
)
"""Manifest of each set (docs/telemetry-formats.md): file, format, expected counts, anchors."""

NEEDED = pytest.mark.skipif(
    not MANIFEST, reason=f"the recorded sets are not here: {FOLDER} (set VEDETTE_SHARED)"
)


def archive(name: str) -> Path:
    return FOLDER / str(MANIFEST[name]["file"])


def parameters(names: list[str] | None = None) -> list[Any]:
    """Sets as parameters of a fixture."""
    chosen = list(MANIFEST) if names is None else names
    if not MANIFEST:
        return [pytest.param("", id="absent")]
    return [pytest.param(name, id=name) for name in chosen]

"""Locates the templates and scripts of the console in the folders of their areas.

A template is named by its path below `vedette/web` (`watchlists/watchlist.html`). Scripts are
served under their file names, which must be unique. Shared files are in `page/`.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from vedette.file_tree import regular_files

WEB: Final = Path(__file__).parents[1]
STATIC: Final = WEB / "page" / "static"
_VIEWER: Final = WEB / "server" / "viewer"
"""Viewer of the OpenAPI document, which is not part of the console."""


def templates() -> Mapping[str, Path]:
    """Maps template names to paths, sorted by name."""
    return {
        path.relative_to(WEB).as_posix(): path
        for path in regular_files(WEB)
        if path.suffix == ".html" and _VIEWER not in path.parents
    }


def scripts() -> Mapping[str, Path]:
    """Maps each script's name to its path, without vendored scripts."""
    found: dict[str, Path] = {}
    for path in regular_files(WEB):
        if path.suffix == ".js" and path.parent.name not in ("vendor", _VIEWER.name):
            assert path.name not in found, f"{path} and {found[path.name]} have the same name"
            found[path.name] = path
    return found

"""The project's own rules, one Sigma file each, in `starter/`.

Files are named after the product and what they find. Each has an event that fires it and one that
nearly does in `tests/unit/detect/starter_cases.py`.
"""

from collections.abc import Iterator
from importlib.resources import files


def starter_texts() -> Iterator[tuple[str, str]]:
    """Name and YAML of every rule of the pack, in order of their names."""
    folder = files("vedette.detect") / "starter"
    for file in sorted(folder.iterdir(), key=lambda one: one.name):
        if file.name.endswith(".yml"):
            yield file.name, file.read_text("utf-8")

"""The project's own rules, one Sigma file each, in `starter/`.

Files are named after the product and what they detect. `tests/unit/detect/starter_cases.py` has,
for each rule, an event that matches and an event that barely does not.
"""

from collections.abc import Iterator
from importlib.resources import files


def starter_texts() -> Iterator[tuple[str, str]]:
    """Yields name and YAML of every rule of the pack, sorted by name."""
    folder = files("vedette.detect") / "starter"
    for file in sorted(folder.iterdir(), key=lambda one: one.name):
        if file.name.endswith(".yml"):
            yield file.name, file.read_text("utf-8")

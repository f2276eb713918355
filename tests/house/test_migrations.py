"""Migrations of the state database are one chain, in the order of their numbers."""

import re
from pathlib import Path

VERSIONS = Path(__file__).parents[2] / "vedette" / "state" / "migrations" / "versions"


def _value(text: str, name: str) -> str:
    found = re.search(rf'^{name} = (?:"(\d+)"|None)$', text, re.MULTILINE)
    assert found, f"{name} of {text[:80]!r}"
    return found[1] or ""


def test_each_migration_follows_the_one_before() -> None:
    before = ""
    for path in sorted(VERSIONS.glob("[0-9]*.py")):
        text = path.read_text()
        assert _value(text, "revision") == path.name.partition("_")[0]
        assert _value(text, "down_revision") == before, path.name
        before = _value(text, "revision")

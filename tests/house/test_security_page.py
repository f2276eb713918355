"""The pages `docs/security-*.md` name the tests that prove their claims: each has to exist."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").glob("security-*.md"))
TEXT = "\n".join(path.read_text() for path in PAGES)
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py(?:::\w+)?)`", TEXT)))


@pytest.mark.parametrize("named", NAMED)
def test_a_test_that_proves_a_claim_exists(named: str) -> None:
    file, _, name = named.partition("::")
    tree = ast.parse((ROOT / file).read_text())
    tests = {one.name for one in ast.walk(tree) if isinstance(one, ast.FunctionDef)}
    assert not name or name in tests
    assert any(one.startswith("test_") for one in tests)


def test_every_claim_names_a_test() -> None:
    claims = re.split(r"^- ", TEXT, flags=re.M)[1:]
    assert len(claims) > 20
    assert [claim for claim in claims if "`tests/" not in claim] == []

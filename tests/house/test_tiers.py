"""Every test file belongs to one tier, and `make all`, which CI runs, leaves none of them out."""

import os
import re
import subprocess
from typing import Final

import pytest

from tests.support.tiers import LONG, PRODUCT, QUICK_FOLDERS, TESTS, TIERS, chosen_tiers, tier_of

ROOT: Final = TESTS.parent
FILES: Final = {path.relative_to(TESTS).as_posix(): path for path in TESTS.rglob("test_*.py")}


def commands(target: str) -> list[str]:
    """Returns the commands that `make` would run for a target and for the targets that it calls."""
    make = ["make", "--dry-run", "--always-make", target]
    # Not the flags and variables of a `make` that runs this test.
    own = {
        name: text
        for name, text in os.environ.items()
        if not name.startswith(("MAKE", "MFLAGS", "ARGS"))
    }
    run = subprocess.run(make, cwd=ROOT, env=own, capture_output=True, text=True, check=True)
    return run.stdout.replace("\\\n", "").splitlines()


def tiers_of(target: str) -> list[str]:
    """The tiers that the tests of a target run, one run after the other."""
    runs = [re.search(r" --tiers (\S+)", line) for line in commands(target)]
    return [tier for run in runs if run for tier in run[1].split(",")]


def test_each_file_of_a_list_exists_and_moves_to_another_tier() -> None:
    assert FILES.keys() >= LONG | PRODUCT
    assert {name for name in LONG if name.partition("/")[0] not in QUICK_FOLDERS} == set()
    assert LONG.isdisjoint(PRODUCT)


def test_every_tier_has_files_and_every_file_has_a_tier() -> None:
    assert {tier_of(path) for path in FILES.values()} == set(TIERS)


def test_a_new_file_is_quick_among_units_and_long_elsewhere() -> None:
    assert tier_of(TESTS / "unit" / "query" / "test_of_tomorrow.py") == "quick"
    assert tier_of(TESTS / "api" / "test_of_tomorrow.py") == "long"


def test_an_unknown_tier_is_refused() -> None:
    with pytest.raises(pytest.UsageError, match="no tier 'slow'"):
        chosen_tiers("quick,slow")


def test_make_all_runs_every_tier_once_and_the_checks() -> None:
    assert tiers_of("quick") == ["quick"]
    assert tiers_of("test") == ["quick", "product"]
    assert sorted(tiers_of("all")) == sorted(TIERS)
    run = "\n".join(commands("all"))
    assert all(part in run for part in ("bin/mypy", "ruff check", "lint-imports"))
    assert "pytest -q tests/house" in run


def test_make_all_leaves_out_only_what_its_checks_have_run() -> None:
    tests = [line for line in commands("all") if "--tiers" in line]
    left_out = [re.findall(r" (?:-k|-m|--deselect|--ignore\S*)(?: |=)\S+", line) for line in tests]
    assert left_out == [[" --ignore=tests/house"], []]


def test_ci_runs_make_all_and_nothing_else_of_make() -> None:
    script = (ROOT / ".ci" / "run").read_text()
    assert re.findall(r"^make.*$", script, re.MULTILINE) == ["make all"]

"""`scripts/run-tests`: a failed test is run again, alone, and fails the run if it fails again."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.failures import without_group
from tests.support.tiers import TESTS

REPOSITORY = TESTS.parent
STARVED = """
from pathlib import Path

import pytest

RUNS = Path(__file__).with_name("runs")


@pytest.mark.parametrize("host", ["a@b", "a b"])
@pytest.mark.xdist_group("servers")
def test_starved(host: str) -> None:
    first_run = not RUNS.exists() or host not in RUNS.read_text()
    with RUNS.open("a") as output:
        output.write(host)
    assert not first_run


def test_sound() -> None:
    pass
"""


def run(tests: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the tests of a directory with two workers."""
    script = ["sh", str(REPOSITORY / "scripts/run-tests"), sys.executable]
    quiet = ["-n", "2", "--dist", "loadgroup", "-p", "no:cacheprovider", *arguments]
    (tests / "pytest.ini").write_text("[pytest]\n")
    return subprocess.run(
        [*script, *quiet, str(tests)],
        cwd=tests,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_test_that_fails_beside_others_only_passes(tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text(STARVED)
    done = run(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(f"rootdir: {tmp_path}\n") == 2
    assert "2 failed, 1 passed" in done.stdout
    assert "== 2 failed; each is run again, alone" in done.stdout
    assert "2 passed" in done.stdout


@pytest.mark.parametrize(
    "module",
    [
        "def test_broken() -> None:\n    assert False\n",
        "import no_such_module\n",
        "import pytest\n@pytest.fixture\ndef broken():\n    0 / 0\ndef test_a(broken): ...\n",
    ],
    ids=["failure", "collection", "fixture"],
)
def test_a_test_that_fails_twice_fails_the_run(tmp_path: Path, module: str) -> None:
    (tmp_path / "test_one.py").write_text(module)
    done = run(tmp_path)
    assert done.returncode != 0
    assert "== 1 failed; each is run again, alone" in done.stdout


def test_many_failures_are_not_run_again(tmp_path: Path) -> None:
    fails = "def test_a(n):\n    assert False\n"
    many = f"import pytest\n@pytest.mark.parametrize('n', range(41))\n{fails}"
    (tmp_path / "test_one.py").write_text(many)
    done = run(tmp_path)
    assert done.returncode == 1
    assert "run again" not in done.stdout


@pytest.mark.parametrize(
    ("reported", "name"),
    [
        ("tests/a.py::test_b@tests-a", "tests/a.py::test_b"),
        ("tests/a.py::test_b[x@y]@flow 1", "tests/a.py::test_b[x@y]"),
        ("tests/a.py::test_b[x@y]", "tests/a.py::test_b[x@y]"),
        ("tests/a.py::test_b", "tests/a.py::test_b"),
    ],
)
def test_the_group_of_a_test_is_no_part_of_its_id(reported: str, name: str) -> None:
    assert without_group(reported) == name

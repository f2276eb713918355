"""Test modules with their assertions rewritten, once before the workers of a run start.

pytest keeps what it rewrote beside the modules. Where nothing is kept yet, as in a new clone, each
worker would rewrite all of them, at the same time as the others: half of what collecting costs.
"""

import multiprocessing
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from _pytest.assertion import rewrite


def rewrite_before_workers(config: pytest.Config, folder: Path) -> None:
    """For a run of all tests by several workers."""
    is_whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    is_first = not hasattr(config, "workerinput") and config.getoption("numprocesses", 0)
    if is_whole and is_first and not sys.dont_write_bytecode:
        paths = sorted({*folder.rglob("test_*.py"), *folder.rglob("conftest.py")})
        rewrite_by(os.cpu_count() or 1, config, paths)


def rewrite_by(processes: int, config: pytest.Config, paths: Sequence[Path]) -> None:
    # Forks: they need the configuration as it is.
    forks = [
        multiprocessing.get_context("fork").Process(
            target=_keep, args=(config, paths[at::processes])
        )
        for at in range(processes)
    ]
    for fork in forks:
        fork.start()
    for fork in forks:
        fork.join()  # What one has not done, the workers do.


def _keep(config: pytest.Config, paths: Sequence[Path]) -> None:
    for path in paths:
        kept = rewrite.get_cache_dir(path) / f"{path.stem}{rewrite.PYC_TAIL}"
        if rewrite._read_pyc(path, kept) is None and rewrite.try_makedirs(kept.parent):
            stat, code = rewrite._rewrite_test(path, config)
            rewrite._write_pyc(config.stash[rewrite.assertstate_key], code, stat, kept)

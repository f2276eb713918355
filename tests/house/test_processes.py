"""Checks the imports of each process: an unneeded library costs every start of a server time and
memory."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("program", "without"),
    [
        ("vedette.bootstrap.serving", {"sigma", "yara_x", "lief", "confluent_kafka", "boto3"}),
        ("vedette.cli.importing.offline_import", {"sigma", "lief"}),
        (
            "vedette.bootstrap.ingest_workers",
            {"sigma", "sqlalchemy", "alembic", "fastapi", "chdb", "clickhouse_connect", "httpx"},
        ),
    ],
)
def test_a_process_imports_no_library_that_only_others_need(
    program: str, without: set[str]
) -> None:
    source = f"import sys, {program}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, timeout=120, check=True
    )
    assert not without & set(done.stdout.split())


_AS_A_PROGRAM = """
import runpy, sys
try:
    runpy.run_module("vedette.bootstrap.ingest_workers", run_name="__main__")
except ValueError:  # it is told no sockets, so it ends once everything is imported
    print(*sys.modules)
"""


def test_a_worker_imports_nothing_that_its_libraries_can_do_without() -> None:
    command = [sys.executable, "-c", _AS_A_PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    imported = set(done.stdout.split())
    assert {"pyarrow.lib", "structlog"} <= imported
    assert not {"numpy", "rich", "pygments"} & imported

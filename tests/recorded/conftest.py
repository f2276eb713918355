"""Whole recorded attacks, each through a server of its own.

All tests of a set run in one worker, so that its server starts once, and so do those that read its
records without a server. What takes many minutes runs with `make recorded` only;
VEDETTE_TEST_RECORDED=1 does the same.
"""

import os

import pytest

from tests.recorded.sets import MANIFEST

WHOLE_SERVERS = ("test_sets", "test_orders", "test_detections")
RECORDS_ALONE = ("test_windows_records", "test_process_identity")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    skipped = pytest.mark.skip(reason="set VEDETTE_TEST_RECORDED, or call make recorded")
    for item in items:
        if item.path.parent.name != "recorded":
            continue
        if item.path.stem in WHOLE_SERVERS:
            _group_by_set(item, item.path.stem)
            if not os.environ.get("VEDETTE_TEST_RECORDED"):
                item.add_marker(skipped)
        elif item.path.stem in RECORDS_ALONE:
            _group_by_set(item, "records")


def _group_by_set(item: pytest.Item, prefix: str) -> None:
    for name in _sets_of(item):
        item.add_marker(pytest.mark.xdist_group(f"{prefix}-{name}"))


def _sets_of(item: pytest.Item) -> list[str]:
    """The sets among a test's parameters: marks of a fixture's parameters do not reach xdist."""
    callspec = getattr(item, "callspec", None)
    parameters = callspec.params.values() if callspec is not None else ()
    return [value for value in parameters if isinstance(value, str) and value in MANIFEST]

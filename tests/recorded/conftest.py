"""Whole recorded attacks, each through a server of its own, take many minutes: `make recorded`.

The quicker tests of this folder read the same sets and run always, where the sets are present.
"""

import os

import pytest

WHOLE_SERVERS = ("test_sets", "test_orders", "test_sigma_regression")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.environ.get("VEDETTE_TEST_RECORDED"):
        return
    skipped = pytest.mark.skip(reason="set VEDETTE_TEST_RECORDED, or call make recorded")
    for item in items:
        if item.path.parent.name == "recorded" and item.path.stem in WHOLE_SERVERS:
            item.add_marker(skipped)

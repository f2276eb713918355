"""Sorting in memory and beyond it."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.forms import in_form
from vedette.importer.order.external_sort import Sorter


@given(st.lists(st.binary(max_size=20)), st.integers(0, 500), st.integers(1, 7))
@settings(deadline=None, max_examples=in_form(15, 50))
def test_items_come_out_sorted_whatever_the_memory(
    items: list[bytes], memory_bytes: int, at_once: int
) -> None:
    sorter = Sorter(memory_bytes)
    for at in range(0, len(items), at_once):
        sorter.extend(items[at : at + at_once])
    assert list(sorter) == sorted(items)
    assert sorter.count == len(items)
    sorter.close()


def test_runs_can_be_read_more_than_once_and_at_the_same_time() -> None:
    items = [random.Random(seed).randbytes(300) for seed in range(3_000)]
    sorter = Sorter(100_000)
    sorter.extend(items[:1_500])
    sorter.extend(items[1_500:])
    assert list(zip(sorter, sorter, strict=True)) == [(one, one) for one in sorted(items)]
    sorter.close()

"""Records that explain others are moved to the front; the others keep their order."""

from collections.abc import Callable

import pytest

from vedette.importer.order import context_first
from vedette.importer.order.context_first import Placed, order_by_context

GUID = "{:08x}-1f63-5f25-0000-0010e2370100"


def record(number: int, event_id: int = 11, guid: int = 1) -> Placed:
    text = f'{{"EventID":{event_id},"ProcessGuid":"{{{GUID.format(guid)}}}","n":{number}}}'
    return text.encode(), (0, number)


def numbers(placed: list[Placed]) -> list[int]:
    return [position for _, (_, position) in placed]


@pytest.fixture
def small_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context_first, "IMPORT_CHUNK_RECORDS", 2)


@pytest.mark.usefixtures("small_requests")
def test_starts_ends_and_first_mentions_go_before_all_else() -> None:
    records = [record(0), record(1), record(2, event_id=4688), record(3, guid=2), record(4)]
    assert numbers(list(order_by_context(records))) == [0, 2, 3, 1, 4]


@pytest.mark.usefixtures("small_requests")
def test_records_about_the_host_go_before_everything() -> None:
    records = [record(0), record(1, event_id=1), record(2, event_id=4769), record(3, guid=2)]
    assert numbers(list(order_by_context(records))) == [2, 0, 1, 3]


def test_what_fits_into_one_request_stays_in_order() -> None:
    records = [record(0), record(1), record(2, event_id=5)]
    assert numbers(list(order_by_context(records))) == [0, 1, 2]


@pytest.mark.usefixtures("small_requests")
def test_it_looks_ahead_only_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context_first, "IMPORT_AHEAD_BYTES", 3 * len(record(0)[0]))
    records = [record(0), record(1), record(2), record(3, event_id=1), record(4)]
    assert numbers(list(order_by_context(records))) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    "form",
    [
        '{{"EventID":{},"x":9}}',
        '{{"winlog":{{"event_id":"{}"}}}}',
        '{{"Event":{{"System":{{"EventID":{{"#text":{},"#attributes":{{}}}}}}}}}}',
        "<Event><System><EventID Qualifiers='16384'>{}</EventID></System></Event>",
    ],
)
@pytest.mark.parametrize(("event_id", "first"), [(1, True), (4688, True), (11, False)])
@pytest.mark.usefixtures("small_requests")
def test_event_ids_are_seen_in_every_wrapper(form: str, event_id: int, first: bool) -> None:
    other: Callable[[int], Placed] = lambda n: (form.format(7).encode(), (0, n))  # noqa: E731
    records = [other(0), other(1), (form.format(event_id).encode(), (0, 2))]
    assert (numbers(list(order_by_context(records)))[0] == 2) is first

"""Facets in the form clients parse (docs/clients.md#search-and-facets)."""

from vedette.web.processes.facets_json import facet_list, process_facets


def test_an_entry_has_a_share_of_the_largest_and_of_the_sum() -> None:
    assert facet_list([("cmd.exe", 12), ("x.exe", 9), ("y.exe", 3)]) == [
        {"name": "cmd.exe", "value": 12, "percent": 100.0, "ratio": "50.0"},
        {"name": "x.exe", "value": 9, "percent": 75.0, "ratio": "37.5"},
        {"name": "y.exe", "value": 3, "percent": 25.0, "ratio": "12.5"},
    ]


def test_a_facet_without_values_is_an_empty_list() -> None:
    assert process_facets({"hostname": [], "start": []}) == {"hostname": [], "start": []}


def test_times_stand_in_their_order_and_can_be_searched_for() -> None:
    lists = process_facets({"start": [(20_001, 5), (20_000, 4)], "hour_of_day": [(13, 2), (4, 1)]})
    assert [one["name"] for one in lists["start"]] == [
        "2024-10-04T00:00:00Z",
        "2024-10-05T00:00:00Z",
    ]
    assert [one["name"] for one in lists["hour_of_day"]] == ["4", "13"]


def test_counts_of_nothing_have_no_share() -> None:
    assert facet_list([("x", 0)]) == [{"name": "x", "value": 0, "percent": 0.0, "ratio": "0.0"}]

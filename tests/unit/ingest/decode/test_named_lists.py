"""Event data that converters of XML wrote as lists of elements keeps the names of its values."""

from typing import Any

import pytest

from vedette.ingest.decode.eventlog import flat_data

NAMED = {"TargetUserName": "bob", "LogonType": "3"}


@pytest.mark.parametrize(
    "data",
    [
        [{"@Name": "TargetUserName", "#text": "bob"}, {"@Name": "LogonType", "#text": "3"}],
        [{"Name": "TargetUserName", "Value": "bob"}, {"Name": "LogonType", "Value": "3"}],
        [{"-Name": "TargetUserName", "#text": "bob"}, {"-Name": "LogonType", "#text": "3"}],
        [{"name": "TargetUserName", "value": "bob"}, {"name": "LogonType", "value": "3"}],
        [
            {"#attributes": {"Name": "TargetUserName"}, "#text": "bob"},
            {"#attributes": {"Name": "LogonType"}, "#text": "3"},
        ],
    ],
)
def test_elements_with_names_are_values_by_name(data: list[dict[str, Any]]) -> None:
    assert flat_data(data) == NAMED
    assert flat_data({"Data": data}) == NAMED


def test_an_element_alone_or_without_a_value_keeps_its_name() -> None:
    assert flat_data({"Data": {"@Name": "User", "#text": "bob"}}) == {"User": "bob"}
    assert flat_data({"Data": [{"@Name": "User"}, {"@Name": "Ip", "#text": "::1"}]}) == {
        **{"User": "", "Ip": "::1"}
    }


def test_other_lists_and_objects_are_read_as_before() -> None:
    assert flat_data({"Data": ["a", "b"]}) == {"param1": "a", "param2": "b"}
    assert flat_data({"Data": [{"#text": "a"}, "b"]}) == {"param1": "a", "param2": "b"}
    assert flat_data({"Items": [{"Name": "a", "Size": 1}]}) == {"Name": "a", "Size": 1}
    assert flat_data([{"Name": "a"}]) == {"Name": "a"}
    assert flat_data({"Name": "a", "Value": "b"}) == {"Name": "a", "Value": "b"}

"""The catalogue of search fields agrees with the columns it names."""

import pytest

from vedette.model.binary_fields import BINARY, BINARY_LISTS
from vedette.model.columns import EVENT_KINDS, KEY, METADATA, SHAPE
from vedette.model.field import Field
from vedette.model.fields import DERIVED, JOINS, PROCESS, is_event_source
from vedette.model.indexes import INDEXES
from vedette.query.compile.binary_sql import BINARY_COLUMNS

COLUMNS = {
    *(column.name for column in (*KEY, *METADATA)),
    *(column.name for kind in EVENT_KINDS for column in kind.columns),
    *(f"{kind.name}_count" for kind in EVENT_KINDS),
    SHAPE.name,
}


def columns_of(field: Field) -> list[str]:
    sources = (*field.sources, *field.paths)
    return [column for source in sources for column in DERIVED.get(source, (source,))]


@pytest.mark.parametrize("field", PROCESS.fields, ids=lambda field: field.name)
def test_every_field_names_columns_that_exist(field: Field) -> None:
    assert set(columns_of(field)) <= COLUMNS


def test_every_index_is_of_a_column_that_exists() -> None:
    assert {column for column, _ in INDEXES} <= COLUMNS


def test_no_name_is_given_twice() -> None:
    names = [name for field in PROCESS.fields for name in (field.name, *field.aliases)]
    assert len(names) == len(set(names))


def test_names_are_found_in_any_case() -> None:
    assert PROCESS.find("Process_NAME") is PROCESS.by_name["process_name"]


@pytest.mark.parametrize("name", ["watchlist_12", "alliance_score_nvd", "alliance_data_a-b.c"])
def test_fields_of_feeds_and_watchlists_are_known(name: str) -> None:
    found = PROCESS.find(name)
    assert found is not None
    assert found.kind == "tag"


@pytest.mark.parametrize("name", ["digsig_result_modload", "product_name", "tampered_child"])
def test_fields_of_binaries_are_known(name: str) -> None:
    assert PROCESS.by_name[name].kind == "join"


@pytest.mark.parametrize("name", ["watchlist_x", "alliance_score_", "processname"])
def test_what_is_no_field_is_not_found(name: str) -> None:
    assert PROCESS.find(name) is None


def test_a_number_made_of_event_columns_is_an_event() -> None:
    assert is_event_source("destination_port")
    assert not is_event_source("start_hour")
    assert not is_event_source("filemod_count")


@pytest.mark.parametrize("field", BINARY.fields, ids=lambda field: field.name)
def test_every_field_of_binaries_names_columns_that_exist(field: Field) -> None:
    assert set(field.sources) <= set(BINARY_COLUMNS)
    assert field.join is None


def test_every_joined_field_leads_to_a_field_of_binaries() -> None:
    joined = [field for field in PROCESS.fields if field.join is not None]
    assert len(joined) > 100
    for field in joined:
        assert field.join is not None
        assert BINARY.by_name[field.join.field].type == field.type
        assert field.join.source in JOINS


@pytest.mark.parametrize("name", ["comments", "last_seen", "comments_modload"])
def test_what_only_binaries_have_is_no_field_of_processes(name: str) -> None:
    assert PROCESS.find(name) is None


def test_columns_of_many_values_are_columns_of_binaries() -> None:
    assert set(BINARY_COLUMNS) >= BINARY_LISTS

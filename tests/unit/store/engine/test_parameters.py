"""Parameters are escaped exactly as the driver would."""

from clickhouse_connect.driver.binding import format_bind_value
from hypothesis import given
from hypothesis import strategies as st

from vedette.store.engine.parameters import escaped

TEXT = st.text() | st.text(alphabet="\\'`\t\n\"%{} ")
VALUES = st.one_of(
    TEXT,
    st.lists(TEXT),
    st.lists(TEXT | st.integers()),
    st.lists(st.integers()),
    st.integers(),
    st.tuples(TEXT, st.integers()),
    st.lists(st.tuples(st.integers(), TEXT)),
)


@given(VALUES)
def test_a_value_reaches_the_engine_as_the_driver_would_write_it(value: object) -> None:
    params = escaped({"value": value})
    assert params is not None
    assert format_bind_value(params["value"]) == format_bind_value(value)


def test_a_question_without_values_stays_one() -> None:
    assert escaped(None) is None
    assert escaped({}) == {}

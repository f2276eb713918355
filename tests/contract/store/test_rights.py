"""Grants that a user of a cluster needs. All store tests run with only these grants."""

from typing import Any

import pytest

from vedette.errors import StartError, UnavailableError
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.engine.grants import RIGHTS, check_rights, grants


class Elsewhere:
    """An engine that works in a database where its user may do nothing."""

    database = "elsewhere"

    def __init__(self, engine: ClickHouseEngine) -> None:
        self._engine = engine

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


def test_a_user_with_all_rights_may_start(contract_engine: ClickHouseEngine) -> None:
    check_rights(contract_engine)


def test_every_right_that_is_missing_is_named_at_the_start(engine: ClickHouseEngine) -> None:
    with pytest.raises(StartError) as refusal:
        check_rights(Elsewhere(engine))
    reported = str(refusal.value)
    for right in RIGHTS:
        assert (f"GRANT {right.sql('elsewhere')}" in reported) == ("{database}" in right.on)


def test_a_right_that_is_taken_away_later_makes_the_store_unavailable(
    engine: ClickHouseEngine,
) -> None:
    with pytest.raises(UnavailableError, match=r"lacks a right: CREATE DATABASE ON elsewhere\.\*$"):
        engine.command("CREATE DATABASE elsewhere")


def test_rights_are_given_to_a_user_in_one_database() -> None:
    assert "GRANT SELECT, INSERT, SHOW ON vedette.* TO server" in grants("vedette", "server")

"""Binaries by hash are what the statement for any number of them says."""

from random import Random
from typing import Any

import pytest

from tests.contract.store.test_binaries import seen
from tests.support.forms import in_form
from vedette.model.columns import BINARY
from vedette.model.scope import EVERYTHING, Scope
from vedette.query.compile.binary_sql import BINARY_COLUMNS, binaries_sql
from vedette.query.compile.condition import SETTINGS
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.read.binary_rows import BINARY_NAMES_MAX, binary_rows
from vedette.store.sql.column_lists import quoted
from vedette.store.sql.scope_filter import scope_params
from vedette.store.write.binary_readings import write_readings
from vedette.store.write.commit import Commit
from vedette.store.write.insert import write_commit

HASHES = [f"{number:032x}" for number in range(1, 13)]
LISTS = ("observed_filename", "hostname", "group", "endpoint")
SCOPES = (EVERYTHING, Scope(frozenset({1, 3})), Scope(frozenset()))


def drawn(draw: Random) -> dict[str, str]:
    """Some columns of a binary."""
    found = {}
    for column in draw.sample(BINARY, draw.randrange(0, 8)):
        text = column.type == "text"
        found[column.name] = draw.choice(("", "b", "a")) if text else str(draw.randrange(2))
    if draw.random() < 0.5:
        found["digsig_result"] = draw.choice(("Unsigned", "Signed", ""))
    return found


def by_statement(engine: ClickHouseEngine, scope: Scope) -> list[dict[str, Any]]:
    columns = ", ".join(
        f"arraySlice(arraySort({quoted(name)}), 1, {BINARY_NAMES_MAX}) AS `l_{name}`"
        if name in LISTS
        else quoted(name)
        for name in BINARY_COLUMNS
    )
    found = engine.query(
        f"SELECT {columns} FROM ({binaries_sql('hash IN {hashes:Array(String)}')}) ORDER BY hash",
        {"hashes": HASHES, **scope_params(scope)},
        settings=SETTINGS,
    )
    return [
        {name.removeprefix("l_"): value for name, value in row.items()} for row in found.dicts()
    ]


@pytest.mark.parametrize("seed", range(in_form(1, 3)))
def test_merging_here_and_in_the_store_answer_alike(
    contract_engine: ClickHouseEngine, seed: int
) -> None:
    draw = Random(seed)
    for _ in range(3):
        rows = [
            seen(draw.choice(HASHES[:9]), draw.randrange(1, 4), f"/{n}", n + 1, **drawn(draw))
            for n in range(15)
        ]
        write_commit(contract_engine, Commit(binaries=rows))
    for digest in draw.sample(HASHES, 8):
        reading: dict[str, Any] = {
            "hash": digest,
            "md5": digest,
            "sha256": digest * 2,
            "read_at": draw.randrange(1, 90),
            "sensor_id": draw.choice((0, 0, 1, 2)),
            "is_added": draw.randrange(2),
            "product_name": draw.choice(("", "z")),
            "added": 7,
            "first_seen": 7,
            "digsig_result": draw.choice(("", "Unsigned", "Signed", "Expired")),
        }
        write_readings(contract_engine, [reading])
        write_readings(contract_engine, [reading | {"sensor_id": 3, "read_at": 40}])
    for scope in SCOPES:
        found = binary_rows(contract_engine, HASHES, scope)
        assert found == by_statement(contract_engine, scope)
        assert found or scope == SCOPES[2]

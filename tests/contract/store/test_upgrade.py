"""A store of an earlier schema version is upgraded, whatever interrupts it, and answers the same.

`tests/data/stores/` has a store that each earlier version made, and what it answered.
"""

import json
import lzma
import shutil
import signal
import tarfile
from pathlib import Path
from typing import Any

import pytest

from scripts.old_store import asked
from tests.fault.rounds import is_long
from tests.support.served import serving
from tests.support.upgrades import corrected_path, killed_upgrade, opened_answers
from vedette.errors import StartError
from vedette.model.columns import CLAIMS
from vedette.store.engine.capabilities import EMBEDDED
from vedette.store.engine.client import ClickHouseEngine, Engine
from vedette.store.schema.create import create_tables
from vedette.store.schema.tables import SCHEMA_VERSION, TABLES
from vedette.store.schema.upgrade import OLDEST_VERSION, STEPS, Step, expected_s, upgrade

ROOT = Path(__file__).parents[3]
STORES = ROOT / "tests" / "data" / "stores"
EARLIER = [f"v{number}" for number in range(OLDEST_VERSION, SCHEMA_VERSION)]
RUN_S = 180
STATEMENTS_MAX = 1_000


def unpacked(version: str, directory: Path) -> Path:
    with tarfile.open(STORES / f"{version}.tar.xz") as archive:
        archive.extractall(directory)
    return directory


def own_statements(began: int) -> int:
    """Returns the number of statements of an upgrade by one version, including the one that writes
    the version."""
    return len(STEPS[began - OLDEST_VERSION].statements(EMBEDDED)) + 1


def shared(found: Any, wanted: Any) -> Any:
    """An answer without the members of objects that the earlier version did not have."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        return {name: shared(found[name], wanted[name]) for name in found.keys() & wanted.keys()}
    if isinstance(found, list) and isinstance(wanted, list) and len(found) == len(wanted):
        return [shared(*pair) for pair in zip(found, wanted, strict=True)]
    return found


def asked_of_a_server(directory: Path) -> Any:
    """The same without the imports of two programs."""
    with serving(directory, "--set", "retention_days=0") as server, server.analyst() as client:
        return json.loads(json.dumps(asked(client)))


@pytest.mark.parametrize("version", EARLIER)
def test_a_store_of_an_earlier_version_answers_the_same(version: str, tmp_path: Path) -> None:
    directory = unpacked(version, tmp_path / "data")
    found = asked_of_a_server(directory)
    wanted = json.loads(lzma.decompress((STORES / f"{version}.answers.json.xz").read_bytes()))
    assert found.keys() == wanted.keys()
    for question, answer in wanted.items():
        assert shared(found[question], answer) == answer, question
    log = (directory / "server.log").read_text()
    assert "telemetry schema will be upgraded" in log
    assert '"expected_s"' in log


@pytest.mark.parametrize("version", EARLIER)
def test_an_upgrade_that_is_killed_after_any_statement_is_completed(
    version: str, tmp_path: Path
) -> None:
    """In the short form after those of the store's own next step: the steps after it are those of
    the stores of later versions."""
    began = int(version[1:])
    original = unpacked(version, tmp_path / "original")
    found = set()
    for number in range(1, STATEMENTS_MAX if is_long() else own_statements(began) + 1):
        telemetry = tmp_path / str(number) / "telemetry"
        shutil.copytree(original / "telemetry", telemetry, symlinks=True)
        ended = killed_upgrade(telemetry, began, number)
        found.add(json.dumps(opened_answers(telemetry)))
        if not ended:
            break  # it has fewer statements
        assert ended == signal.SIGKILL
    assert number > 1
    assert ended == 0 or not is_long()
    (answer,) = found
    segments, written, (claims,), (left,) = json.loads(answer)
    assert segments[0] > 0
    assert written == [SCHEMA_VERSION, 1 + SCHEMA_VERSION - began]
    assert sorted(claims) == sorted(
        column.physical for columns in CLAIMS.values() for column in columns
    )
    assert left == []


def test_a_pending_correction_with_the_rank_of_the_stored_claim_wins(tmp_path: Path) -> None:
    newest, paths = corrected_path(unpacked("v8", tmp_path / "data") / "telemetry")
    assert paths == [newest]


def tables_of(engine: Engine) -> list[str]:
    found = engine.query(
        "SELECT create_table_query FROM system.tables WHERE database = {name:String} ORDER BY name",
        {"name": engine.database},
    )
    return [row[0] for row in found.rows]


def test_a_newer_store_is_refused_and_left_as_it_is(contract_engine: ClickHouseEngine) -> None:
    engine = contract_engine
    engine.command("DROP TABLE settled SYNC")
    engine.command(f"INSERT INTO schema SELECT {SCHEMA_VERSION + 1}, now64(6, 'UTC')")
    before = tables_of(engine)
    with pytest.raises(StartError, match=f"schema {SCHEMA_VERSION + 1}.*newer version"):
        create_tables(engine)
    assert tables_of(engine) == before


def test_a_store_that_is_too_old_is_refused(contract_engine: ClickHouseEngine) -> None:
    engine = contract_engine
    engine.command("TRUNCATE TABLE schema")
    engine.command(f"INSERT INTO schema SELECT {OLDEST_VERSION - 1}, now64(6, 'UTC')")
    before = tables_of(engine)
    with pytest.raises(StartError, match=f"schema {OLDEST_VERSION - 1}"):
        create_tables(engine)
    assert tables_of(engine) == before


def test_a_cluster_of_the_layout_before_claims_is_refused(
    contract_engine: ClickHouseEngine,
) -> None:
    engine = contract_engine
    engine.command("TRUNCATE TABLE schema")
    engine.command("INSERT INTO schema SELECT 8, now64(6, 'UTC')")
    if not engine.capabilities.cluster:
        create_tables(engine)
        assert engine.query("SELECT max(version) FROM schema").rows[0][0] == SCHEMA_VERSION
        assert list(upgrade(engine, SCHEMA_VERSION)) == []
        return
    with pytest.raises(StartError, match="cluster"):
        create_tables(engine)


ADDS = Step(
    SCHEMA_VERSION + 1,
    "a table of notes",
    lambda _: ("CREATE TABLE IF NOT EXISTS note (n UInt64) ENGINE = MergeTree ORDER BY n",),
)


def test_a_step_is_run_once_and_its_version_is_written(engine: ClickHouseEngine) -> None:
    done = list(upgrade(engine, SCHEMA_VERSION, (*STEPS, ADDS)))
    assert [version for version, _ in done] == [ADDS.version] * 2
    assert engine.query("SELECT max(version) FROM schema").rows == [(ADDS.version,)]
    assert engine.query("SELECT count() FROM note").rows == [(0,)]
    assert list(upgrade(engine, ADDS.version, (*STEPS, ADDS))) == []


def test_a_new_store_has_the_newest_version_and_no_upgrade(engine: ClickHouseEngine) -> None:
    assert engine.query("SELECT version FROM schema").rows == [(SCHEMA_VERSION,)]


def test_there_is_a_step_for_every_version_after_the_oldest() -> None:
    assert [step.version for step in STEPS] == list(range(OLDEST_VERSION + 1, SCHEMA_VERSION + 1))


def test_the_estimate_grows_with_what_is_rewritten() -> None:
    light = Step(9, "", lambda _: ())
    heavy = Step(9, "", lambda _: (), rewrites=True)
    size = 10**12
    assert expected_s(light, 2, size) == expected_s(light, 2, 0) == 1
    assert expected_s(heavy, 2, size) > 3_600


def test_tables_are_those_of_this_version() -> None:
    assert {"segment", "process", "schema"} <= {table.name for table in TABLES}

"""Metadata with a better rank replaces what was stored, in stored segments too."""

from typing import Any

import pytest

from tests.contract.store.rows import HOUR_MS, NEXT_MS, file, partial, process_id, store
from vedette.limits import CORRECTION_TEXT_CHARS, TEXT_CHARS_MAX
from vedette.model.metadata_rank import RANK_COLUMN_OF, Rank, merge_ranked, ranked, withdrawn
from vedette.model.scope import EVERYTHING
from vedette.model.segment import Correction
from vedette.store.engine.client import ClickHouseEngine, Engine
from vedette.store.read import process as stored
from vedette.store.read.recovery import known_processes
from vedette.store.write.commit import Commit
from vedette.store.write.corrections import apply_corrections
from vedette.store.write.insert import write_commit

LIE: dict[str, Any] = {
    "path": "C:\\zzz.exe",
    "process_name": "zzz.exe",
    "process_md5": "f" * 32,
    "username": "CORP\\zoe",
    "start": 9_000_000,
}
TRUTH: dict[str, Any] = {
    "path": "C:\\O'Neil \\x27\\cmd.exe",
    "process_name": "cmd.exe",
    "username": "CORP\\ann",
    "start": 5_000_000,
    "parent_pid": 7,
}
SHOWN = ("path", "process_name", "process_md5", "username", "start", "parent_pid")


def facts(*claims: dict[str, Any]) -> dict[str, Any]:
    known: dict[str, Any] = {}
    for claim in claims:
        merge_ranked(known, claim)
    return known


LIED = facts(ranked(LIE, Rank.OTHERS, 1_000))
TRUE = facts(ranked(TRUTH, Rank.CREATION, 2_000))


def correction(values: dict[str, Any], number: int = 1, partition_ms: int = HOUR_MS) -> Correction:
    names = (*RANK_COLUMN_OF, *RANK_COLUMN_OF.values())
    whole = {name: values.get(name) or withdrawn(name) for name in names}
    return Correction(partition_ms, 1, process_id(number), [HOUR_MS, NEXT_MS], whole)


def corrected(engine: Engine, *corrections: Correction, seq: int = 9) -> None:
    write_commit(engine, Commit(corrections=corrections, seq=seq))


def shown(engine: Engine, number: int = 1) -> dict[str, Any]:
    row = stored.process_rows(engine, [process_id(number)], EVERYTHING)[process_id(number)]
    return {name: row[name] for name in SHOWN}


WANTED = {**dict.fromkeys(SHOWN, ""), **TRUTH}


def test_a_correction_replaces_greater_values_in_all_segments(
    contract_engine: ClickHouseEngine,
) -> None:
    engine = contract_engine
    store(
        engine,
        partial(1, file("C:\\a"), **LIED),
        partial(1, file("C:\\b"), window_ms=NEXT_MS, **LIED),
        partial(2, file("C:\\c"), **LIED),
    )
    corrected(engine, correction(TRUE))
    assert apply_corrections(engine) == 1
    assert shown(engine) == WANTED
    assert shown(engine, 2)["path"] == LIE["path"]
    assert apply_corrections(engine) == 0


@pytest.mark.parametrize("order", [1, -1])
def test_corrections_may_be_applied_in_any_order(engine: ClickHouseEngine, order: int) -> None:
    between = facts(ranked({"path": "C:\\m.exe", "process_md5": "e" * 32}, Rank.OWN, 1))
    store(engine, partial(1, file("C:\\a"), **LIED))
    some = [correction({**LIED, **between}), correction(TRUE)]
    for seq, one in enumerate(some[::order]):
        corrected(engine, one, seq=seq)
        apply_corrections(engine)
    assert shown(engine) == WANTED


def test_a_correction_that_was_applied_before_a_crash_is_applied_again_without_harm(
    engine: ClickHouseEngine,
) -> None:
    store(engine, partial(1, file("C:\\a"), **LIED))
    for _ in range(2):
        corrected(engine, correction(TRUE))
        apply_corrections(engine)
    better = facts(ranked({**TRUTH, "path": "C:\\better.exe"}, Rank.CREATION, 1_000))
    store(engine, partial(1, file("C:\\b"), **better))
    corrected(engine, correction(better))
    corrected(engine, correction(TRUE))
    apply_corrections(engine)
    assert shown(engine)["path"] == "C:\\better.exe"


def test_what_is_not_applied_yet_is_known_after_a_restart(engine: ClickHouseEngine) -> None:
    store(engine, partial(1, file("C:\\a"), **LIED))
    corrected(engine, correction(TRUE))
    known = known_processes(engine, [process_id(1)])[process_id(1)].facts
    assert {name: known.get(name, "") for name in SHOWN} == WANTED


def test_more_processes_than_one_statement_corrects(engine: ClickHouseEngine) -> None:
    numbers = range(1, 451)
    store(engine, *(partial(number, file("C:\\a"), **LIED) for number in numbers))
    corrected(engine, *(correction(TRUE, number) for number in numbers))
    assert apply_corrections(engine) == 450
    assert {shown(engine, number)["path"] for number in (1, 200, 201, 450)} == {TRUTH["path"]}


def test_a_correction_of_a_partition_that_is_gone_is_dropped(engine: ClickHouseEngine) -> None:
    corrected(engine, correction(TRUE, partition_ms=1_000))
    assert apply_corrections(engine) == 1


def test_long_command_lines_are_corrected_few_at_a_time(engine: ClickHouseEngine) -> None:
    long = facts(ranked({"cmdline": "\u20ac" * TEXT_CHARS_MAX}, Rank.CREATION, 1))
    many = range(1, 2 + 2 * CORRECTION_TEXT_CHARS // TEXT_CHARS_MAX)
    store(engine, *(partial(number, file("C:\\a")) for number in (many[0], many[-1])))
    corrected(engine, *(correction(long, number) for number in many))
    assert apply_corrections(engine) == len(many)
    row = stored.process_rows(engine, [process_id(many[-1])], EVERYTHING)[process_id(many[-1])]
    assert row["cmdline"] == long["cmdline"]

"""Following commits: what they touched, whole, in their order."""

import pytest

from tests.contract.store.rows import HOUR_MS, file, partial, process_id, store
from tests.contract.store.test_tags import key, reported, watched
from tests.property.test_query_sql import whole
from vedette.model.columns import EVENT_KINDS
from vedette.model.event import BinarySeen
from vedette.query import check, compile_match, parse
from vedette.query.match import Prepared
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.read.detection.touched import (
    SEGMENT_COLUMNS,
    Commits,
    next_commits,
    tagged_segments,
    touched_binaries,
    touched_segments,
    whole_binaries,
    whole_segments,
)
from vedette.store.write.commit import BinaryRow, Commit
from vedette.store.write.insert import write_commit
from vedette.store.write.tags import write_tags

EVER = 1 << 60


def commit(engine: ClickHouseEngine, seq: int, *numbers: int, path: str = r"c:\a.exe") -> None:
    rows = [partial(one, file(path), seq=seq, hostname="H", path=path) for one in numbers]
    store(engine, *rows)


def numbers(engine: ClickHouseEngine, after: int, until: int) -> list[int]:
    found = touched_segments(engine, Commits(after, until))
    return [int(one.key.process_id[-12:], 16) for one in found]


def test_segments_follow_their_latest_commit(contract_engine: ClickHouseEngine) -> None:
    commit(contract_engine, 5, 1, 2)
    commit(contract_engine, 6, 3)
    commit(contract_engine, 7, 1)
    for _ in range(2):
        assert numbers(contract_engine, 0, 9) == [2, 3, 1]
        assert numbers(contract_engine, 5, 7) == [3, 1]
        assert numbers(contract_engine, 6, 7) == [1]
        assert numbers(contract_engine, 7, 9) == []
        contract_engine.command(
            f"OPTIMIZE TABLE {contract_engine.capabilities.storage('segment')} FINAL"
        )


@pytest.mark.parametrize(
    ("after", "settled", "rows_max", "until"),
    [
        (0, 9, 100, 9),
        (0, 9, 2, 5),
        (0, 9, 1, 5),
        (0, 9, 3, 6),
        (5, 9, 1, 6),
        (5, 6, 9, 6),
        (7, 9, 1, 9),
        (4, 5, 1, 5),
    ],
)
def test_commits_are_taken_whole(
    engine: ClickHouseEngine, after: int, settled: int, rows_max: int, until: int
) -> None:
    commit(engine, 5, 1, 2)
    commit(engine, 6, 3)
    commit(engine, 7, 4)
    assert next_commits(engine, after, settled, rows_max) == Commits(after, until)


def test_nothing_follows_what_is_settled(engine: ClickHouseEngine) -> None:
    commit(engine, 5, 1)
    assert next_commits(engine, 5, 5, 10) is None
    assert next_commits(engine, 9, 5, 10) is None


def test_a_touched_segment_is_read_whole(contract_engine: ClickHouseEngine) -> None:
    commit(contract_engine, 5, 1, path=r"c:\a.exe")
    commit(contract_engine, 6, 2)
    commit(contract_engine, 7, 1, path=r"c:\b.exe")
    (touched,) = touched_segments(contract_engine, Commits(6, 7))
    found, columns = whole_segments(contract_engine, [touched], SEGMENT_COLUMNS)
    assert found == [touched]
    assert columns["filemod_path"][0] == [r"c:\a.exe", r"c:\b.exe"]
    assert columns["process_id"] == [process_id(1)]
    assert columns["filemod_count"] == (2,)
    document = {name: values[0] for name, values in columns.items()}
    for text, expected in (
        ("filemod:a.exe filemod:b.exe", True),
        ("hostname:h", True),
        ("filemod:c.exe", False),
        ("filemod_count:2", True),
    ):
        ask = compile_match(check(parse(text), now_us=0))
        assert ask(Prepared(document)) is expected, text
    assert set(whole(1, {}, [])) - set(columns) == set()
    assert {kind.columns[0].name for kind in EVENT_KINDS} <= set(columns)


def test_what_is_gone_is_left_out(engine: ClickHouseEngine) -> None:
    commit(engine, 5, 1, 2)
    touched = touched_segments(engine, Commits(0, 5))
    engine.command(
        f"ALTER TABLE {engine.capabilities.storage('segment')} DELETE "
        "WHERE process_id = {id:String} SETTINGS mutations_sync = 1",
        {"id": process_id(1)},
    )
    found, columns = whole_segments(engine, touched, ["path"])
    assert [one.key.process_id for one in found] == columns["process_id"] == [process_id(2)]
    assert whole_segments(engine, [], ["path"])[0] == []


def test_touched_binaries(contract_engine: ClickHouseEngine) -> None:
    for seq, sensor, number in ((5, 1, 1), (5, 2, 1), (6, 1, 2)):
        seen = BinarySeen(5, str(number) * 32, "", "", f"c:\\{sensor}.dll", {"comments": "x"})
        row = BinaryRow(sensor, f"h{sensor}", "g", "windows", seen, 6, seq)
        write_commit(contract_engine, Commit(binaries=[row]))
    assert touched_binaries(contract_engine, Commits(0, 5)) == {"1" * 32: [1, 2]}
    assert touched_binaries(contract_engine, Commits(5, 9)) == {"2" * 32: [1]}
    assert next_commits(contract_engine, 0, 9, 1) == Commits(0, 5)
    (found,) = whole_binaries(contract_engine, ["1" * 32])
    assert sorted(found["observed_filename"]) == [r"c:\1.dll", r"c:\2.dll"]
    assert found["host_count"] == 2


def test_what_feeds_tagged_can_be_followed(contract_engine: ClickHouseEngine) -> None:
    commit(contract_engine, 5, 1, 2)
    write_tags(contract_engine, [watched(key(1)), reported(key(2)), reported(key(2), ioc="x")])
    found = tagged_segments(contract_engine, 0, EVER)
    assert [one.key for one in found] == [key(2)]
    assert found[0].place == touched_segments(contract_engine, Commits(0, 9))[1].place
    assert tagged_segments(contract_engine, EVER, EVER + 1) == []
    assert found[0].key.window_ms == HOUR_MS

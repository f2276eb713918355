"""Which data parts are whole is seen in their files, for parts of all tables and kinds."""

import os
import shutil
from pathlib import Path

import pytest

from tests.contract.pipeline.requests import plain, security, service, sysmon
from tests.contract.pipeline.write_path import NOON_S, merge, write_path
from vedette.clock import DrivenClock
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.engine.part_files import discard_unfinished, is_whole


@pytest.fixture
def parts(engine: ClickHouseEngine, tmp_path: Path) -> list[Path]:
    """Parts of all tables that ingest writes to, inserted and merged."""
    with write_path(engine, tmp_path, DrivenClock(NOON_S * 1_000_000)) as path:
        for records in (sysmon(), plain(), [service(), security(4625, 78)]):
            path.post(records)
        merge(engine)
    found = engine.query(
        "SELECT path FROM system.parts WHERE database = {database:String}",
        {"database": engine.database},
    )
    return [Path(row[0]) for row in found.rows]


def copied(part: Path, to: Path) -> Path:
    return shutil.copytree(part, to / part.name)


def test_all_that_the_engine_writes_are_whole(parts: list[Path]) -> None:
    assert any((part / "by_process.proj").exists() for part in parts)
    assert len({part.parent for part in parts}) > 3
    assert [part for part in parts if not is_whole(part)] == []


def test_no_file_of_one_may_be_cut_short_or_missing(parts: list[Path], tmp_path: Path) -> None:
    part = copied(max(parts, key=lambda one: len(list(one.rglob("*")))), tmp_path)
    for file in filter(Path.is_file, part.rglob("*")):
        text = file.read_bytes()
        if not text:
            continue
        file.write_bytes(b"")
        assert not is_whole(part), file
        if file.name not in (
            "columns.txt",
            "columns_substreams.txt",
            "default_compression_codec.txt",
            "invalidated_system_columns.txt",  # where the part is one that was attached, or of such
        ):
            file.write_bytes(text[:-1])
            assert not is_whole(part), file
        file.write_bytes(text)
    assert is_whole(part)


def test_a_part_of_which_rows_would_be_lost_is_left_to_the_engine(
    parts: list[Path], tmp_path: Path
) -> None:
    table = tmp_path / "table"
    whole = copied(parts[0], tmp_path)
    for name in ("1_1_1_0", "1_2_2_0", "1_4_4_0", "1_1_2_1", "1_1_4_2", "2_1_2_1", "1_1_4_2_9"):
        shutil.copytree(whole, table / name)
        if name not in ("1_1_1_0", "1_2_2_0"):
            (table / name / "count.txt").write_bytes(b"")
    an_hour_ago = whole.stat().st_mtime - 3600
    for name in ("1_1_2_1", "1_1_4_2"):
        os.utime(table / name, (an_hour_ago, an_hour_ago))
    assert discard_unfinished(table) == ["1_1_2_1", "1_1_4_2_9"]

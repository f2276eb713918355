"""Files that hosts know by their SHA-256 alone, and what happens when somebody knows the MD5."""

import pytest

from tests.contract.store.test_binaries import found
from tests.support.indexed import on_two_shards
from vedette.model.event import BinarySeen
from vedette.model.findings.tag import Tag
from vedette.model.scope import EVERYTHING, Scope
from vedette.search.binaries import binary_search
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.read.binaries import binaries_of
from vedette.store.write import binary_merge
from vedette.store.write.binary_merge import merge_known_files
from vedette.store.write.binary_readings import write_readings
from vedette.store.write.commit import BinaryRow, Commit
from vedette.store.write.insert import write_commit
from vedette.store.write.tags import write_tags

pytestmark = on_two_shards

MD5, SHA256 = "ab" * 16, "cd" * 32


def see(
    engine: ClickHouseEngine, sensor_id: int, md5: str, sha256: str = SHA256, path: str = ""
) -> None:
    image = BinarySeen(5, md5, sha256, "", path or f"/opt/{sensor_id}", {})
    row = BinaryRow(sensor_id, f"ws-{sensor_id}", "G", "linux", image, 1_000, 3 + sensor_id)
    write_commit(engine, Commit(binaries=[row]))


def read(engine: ClickHouseEngine) -> None:
    known = {"md5": MD5, "sha256": SHA256, "read_at": 9, "product_name": "Own"}
    write_readings(engine, [{**known, "hash": digest} for digest in (MD5, SHA256)])


def test_a_file_without_md5_is_a_record_of_its_own(contract_engine: ClickHouseEngine) -> None:
    see(contract_engine, 1, "")
    see(contract_engine, 2, "")
    assert merge_known_files(contract_engine) == 0
    (row,) = binaries_of(contract_engine, [SHA256], EVERYTHING)
    assert (row["md5"], row["host_count"]) == ("", 2)


def test_records_are_one_when_another_host_knows_both_hashes(
    contract_engine: ClickHouseEngine,
) -> None:
    see(contract_engine, 1, "")
    see(contract_engine, 2, MD5)
    tag = Tag(document=SHA256, family="alliance", name="srs", time_us=7, score=9, report="r")
    write_tags(contract_engine, [tag])
    assert len(found(contract_engine, "")) == 2
    assert merge_known_files(contract_engine) == 1
    assert merge_known_files(contract_engine) == 0
    row = binary_search.summary(contract_engine, EVERYTHING, SHA256)
    assert (row["md5"], row["host_count"]) == (MD5, 2)
    assert sorted(row["observed_filename"]) == ["/opt/1", "/opt/2"]
    assert found(contract_engine, "alliance_score_srs:9") == [MD5]
    assert found(contract_engine, "") == [MD5]
    assert found(contract_engine, "hostname:ws-1", Scope(frozenset({1}))) == [MD5]


def test_records_are_one_when_the_bytes_were_read(contract_engine: ClickHouseEngine) -> None:
    see(contract_engine, 1, "")
    read(contract_engine)
    assert merge_known_files(contract_engine) == 1
    (row,) = binaries_of(contract_engine, [MD5], EVERYTHING)
    assert (row["sha256"], row["product_name"], row["host_count"]) == (SHA256, "Own", 1)
    see(contract_engine, 1, "", path="/opt/later")
    assert merge_known_files(contract_engine) == 1
    (row,) = binaries_of(contract_engine, [SHA256], EVERYTHING)
    assert sorted(row["observed_filename"]) == ["/opt/1", "/opt/later"]


@pytest.mark.parametrize(
    "others",
    [[(MD5, SHA256), ("ef" * 16, SHA256)], [(MD5, SHA256), (MD5, "0f" * 32)]],
    ids=["two MD5s", "an MD5 of another file"],
)
def test_hosts_that_contradict_each_other_merge_nothing(
    contract_engine: ClickHouseEngine, others: list[tuple[str, str]]
) -> None:
    """A host that lies would hide its program behind the name of a good one."""
    see(contract_engine, 1, "")
    for number, (md5, sha256) in enumerate(others, 2):
        see(contract_engine, number, md5, sha256)
    assert merge_known_files(contract_engine) == 0
    (row,) = [one for one in binaries_of(contract_engine, [SHA256], EVERYTHING) if not one["md5"]]
    assert row["host_count"] == 1


def test_a_round_ends_at_its_limit_and_what_comes_meanwhile_stays(
    contract_engine: ClickHouseEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binary_merge, "BINARY_ROWS_MERGED_MAX", 2)
    for sensor_id in (1, 2, 3):
        see(contract_engine, sensor_id, "")
    read(contract_engine)
    written = binary_merge._write_again

    def write_while_another_reports(*args: object) -> None:
        written(*args)  # type: ignore[arg-type]
        see(contract_engine, 9, "")

    monkeypatch.setattr(binary_merge, "_write_again", write_while_another_reports)
    counts = [merge_known_files(contract_engine)]
    monkeypatch.setattr(binary_merge, "_write_again", written)
    while count := merge_known_files(contract_engine):
        counts.append(count)
    assert sum(counts) == 4
    (row,) = binaries_of(contract_engine, [MD5], EVERYTHING)
    assert row["host_count"] == 4

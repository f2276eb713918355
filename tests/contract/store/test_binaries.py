"""Binaries: searched and joined as all sensors of the scope saw them, on one machine and on
shards."""

from collections.abc import Iterator

import pytest

from tests.contract.store.rows import module, partial, store
from tests.support.indexed import on_two_shards
from vedette.errors import BadRequestError
from vedette.model.binary_fields import BINARY
from vedette.model.event import BinarySeen
from vedette.model.scope import EVERYTHING, Scope
from vedette.query import check, compile_binaries, compile_segments, parse
from vedette.search.processes.process_search import search_processes
from vedette.search.search_request import SearchRequest, Sort
from vedette.settings import Settings
from vedette.store.engine.capabilities import EMBEDDED, distributed
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.plan.plan import Order
from vedette.store.read.binaries import (
    Frequency,
    binaries_of,
    estimate_binaries,
    frequency_of,
    search_binaries,
    standings_of,
)
from vedette.store.read.binary_facets import Counts, count_binary_facets
from vedette.store.read.binary_usage import first_unsigned, usage_of
from vedette.store.read.segment_search import search_segments
from vedette.store.schema.create import create_tables
from vedette.store.write.commit import BinaryRow, Commit
from vedette.store.write.insert import write_commit
from vedette.store.write.yara_tags import delete_yara_tags, write_yara_tags

NOW_US = 1_700_000_000_000_000
DAY_US = 24 * 3600 * 1_000_000
NEWEST: Order = (("added", True),)
ONE, TWO, THREE = "01" * 16, "02" * 16, "03" * 16


def seen(md5: str, sensor_id: int, path: str, at_us: int = 5, **values: str) -> BinaryRow:
    image = BinarySeen(at_us, md5, md5 * 2, "", path, values)
    return BinaryRow(sensor_id, f"ws-{sensor_id}", "G", "windows", image, 1_000 + at_us, 3)


def three(engine: ClickHouseEngine) -> None:
    """One is known to both sensors, and only the second reports that it is signed."""
    rows = [
        seen(ONE, 1, "c:\\a.exe", 5, product_name="Visual Studio"),
        seen(ONE, 2, "c:\\b.exe", 3, digsig_result="Signed"),
        seen(TWO, 1, "c:\\c.exe", 7, digsig_result="Unsigned", orig_mod_len="512"),
        seen(THREE, 2, "c:\\d.exe", 9),
    ]
    write_commit(engine, Commit(binaries=rows[::2]))
    write_commit(engine, Commit(binaries=rows[1::2]))


def found(engine: ClickHouseEngine, query: str, scope: Scope = EVERYTHING) -> list[str]:
    where = compile_binaries(check(parse(query, BINARY), BINARY, now_us=0))
    answer = search_binaries(engine, where, scope, NEWEST)
    assert answer.total == len(answer.rows)
    return [row["md5"] for row in answer.rows]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", [THREE, TWO, ONE]),
        ("digsig_result:Signed product_name:visual", [ONE]),
        ("-digsig_result:Signed", [THREE, TWO]),
        ("observed_filename:a.exe observed_filename:b.exe", [ONE]),
        (f"md5:{TWO}", [TWO]),
        (f"sha256:{TWO * 2}", [TWO]),
        ("host_count:2", [ONE]),
        ("hostname:ws-2", [THREE, ONE]),
        ("endpoint:ws-1|1 orig_mod_len:[1 TO *]", [TWO]),
        ("studio", [ONE]),
        ("watchlist_1:*", []),
    ],
)
def test_a_search_sees_what_all_sensors_reported_together(
    contract_engine: ClickHouseEngine, query: str, expected: list[str]
) -> None:
    three(contract_engine)
    assert found(contract_engine, query) == expected


def test_a_scope_sees_what_its_sensors_reported_only(contract_engine: ClickHouseEngine) -> None:
    three(contract_engine)
    mine = Scope(frozenset({1}))
    assert found(contract_engine, "", mine) == [TWO, ONE]
    assert found(contract_engine, "digsig_result:Signed OR observed_filename:b.exe", mine) == []
    assert found(contract_engine, "host_count:2 OR hostname:ws-2", mine) == []
    assert found(contract_engine, "", Scope(frozenset())) == []


def test_pages_are_cut_from_the_whole_order(engine: ClickHouseEngine) -> None:
    three(engine)
    where = compile_binaries(check(parse("", BINARY), BINARY, now_us=0))
    pages = [search_binaries(engine, where, EVERYTHING, NEWEST, start=n, rows=1) for n in range(4)]
    assert [page.total for page in pages] == [3] * 4
    assert [row["md5"] for page in pages for row in page.rows] == [THREE, TWO, ONE]
    assert search_binaries(engine, where, EVERYTHING, NEWEST, rows=0).total == 3


@pytest.mark.parametrize("column", ["no_such", "observed_filename", "md5`; DROP TABLE binary"])
def test_binaries_are_ordered_by_single_values_only(engine: ClickHouseEngine, column: str) -> None:
    where = compile_binaries(check(parse("", BINARY), BINARY, now_us=0))
    with pytest.raises(BadRequestError):
        search_binaries(engine, where, EVERYTHING, [(column, True)])


def test_a_binary_is_found_by_either_hash(contract_engine: ClickHouseEngine) -> None:
    three(contract_engine)
    (one,) = binaries_of(contract_engine, [ONE], EVERYTHING)
    assert binaries_of(contract_engine, [ONE * 2], EVERYTHING) == [one]
    assert (one["endpoint"], one["group"]) == (["ws-1|1", "ws-2|2"], ["G"])
    assert (one["added"], one["last_seen"], one["host_count"]) == (1_003, 5, 2)


def test_frequency_counts_hosts_and_processes(contract_engine: ClickHouseEngine) -> None:
    three(contract_engine)
    for number, sensor_id in ((1, 1), (2, 1), (1, 2)):
        store(contract_engine, partial(number, sensor_id=sensor_id, process_md5=ONE))
    store(contract_engine, partial(3, process_md5=TWO))
    assert frequency_of(contract_engine, "md5", ONE, EVERYTHING) == Frequency(2, 3, 4)
    assert frequency_of(contract_engine, "md5", ONE, Scope(frozenset({2}))) == Frequency(1, 1, 1)
    assert frequency_of(contract_engine, "md5", "ff" * 16, EVERYTHING) == Frequency(0, 0, 4)


def test_programs_of_a_list_stand_as_the_hosts_of_the_scope_say(
    contract_engine: ClickHouseEngine,
) -> None:
    three(contract_engine)
    found = standings_of(contract_engine, [ONE, TWO, "ff" * 16], EVERYTHING)
    assert {digest: one.hosts for digest, one in found.items()} == {ONE: 2, TWO: 1}
    within = standings_of(contract_engine, [ONE, TWO], Scope(frozenset({2})))
    assert {digest: one.hosts for digest, one in within.items()} == {ONE: 1}
    assert standings_of(contract_engine, [ONE], Scope(frozenset())) == {}
    assert standings_of(contract_engine, [], EVERYTHING) == {}


def processes(engine: ClickHouseEngine, query: str, scope: Scope = EVERYTHING) -> list[int]:
    where = compile_segments(check(parse(query), now_us=0))
    rows = search_segments(engine, where, scope, [("process_id", False)]).rows
    return [int(row["process_id"][-12:], 16) for row in rows]


def test_a_file_that_a_segment_names_by_sha256_alone_has_the_hosts_of_its_record(
    contract_engine: ClickHouseEngine,
) -> None:
    rows = [seen(ONE, 1, "c:\\a.exe"), seen(TWO, 1, "c:\\b.exe"), seen(TWO, 2, "c:\\b.exe")]
    write_commit(contract_engine, Commit(binaries=rows))
    store(contract_engine, partial(1, process_sha256=ONE * 2))
    store(contract_engine, partial(2, process_md5=TWO, process_sha256=TWO * 2))
    store(contract_engine, partial(3, process_sha256="ee" * 32))
    assert processes(contract_engine, "prevalence:1") == [1]
    assert processes(contract_engine, "prevalence:2") == [2]
    assert processes(contract_engine, "prevalence:[1 TO *]") == [1, 2]


def two_processes(engine: ClickHouseEngine) -> None:
    """1 runs One and loads Two; 2 runs an unknown image and loads Three."""
    store(engine, partial(1, module("m", TWO), process_md5=ONE, original_filename="own.exe"))
    store(engine, partial(2, module("m", THREE), process_md5="ff" * 16))


def facets(engine: ClickHouseEngine, *names: str, scope: Scope = EVERYTHING) -> Counts:
    where = compile_binaries(check(parse("", BINARY), BINARY, now_us=0))
    return count_binary_facets(engine, where, scope, names, NOW_US)


def test_facets_count_each_value_of_a_binary_once(contract_engine: ClickHouseEngine) -> None:
    three(contract_engine)
    counted = facets(
        contract_engine, "digsig_result", "host_count", "hostname", "product_name_facet"
    )
    assert counted["digsig_result"] == [("Signed", 1), ("Unsigned", 1)]
    assert counted["host_count"] == [("1", 2), ("2", 1)]
    assert counted["hostname"] == [("ws-1", 2), ("ws-2", 2)]
    assert counted["product_name_facet"] == [("Visual Studio", 1)]
    mine = facets(contract_engine, "hostname", "host_count", scope=Scope(frozenset({1})))
    assert mine == {"hostname": [("ws-1", 2)], "host_count": [("1", 2)]}


def test_facets_of_time_are_days_and_months_of_late(engine: ClickHouseEngine) -> None:
    rows = [
        seen(
            f"{number:02x}" * 16,
            1,
            "c:\\a.exe",
            NOW_US - days * DAY_US,
            digsig_sign_time=str(signed),
        )
        for number, days, signed in (
            (1, 0, NOW_US - 31 * DAY_US),
            (2, 29, NOW_US - 31 * DAY_US),
            (3, 30, NOW_US - 1_500 * DAY_US),
            (4, 0, 0),
        )
    ]
    write_commit(engine, Commit(binaries=rows))
    counted = facets(engine, "server_added_timestamp", "digsig_sign_time")
    assert counted["server_added_timestamp"] == [
        ("2023-10-16T00:00:00Z", 1),
        ("2023-11-14T00:00:00Z", 2),
    ]
    assert counted["digsig_sign_time"] == [("2023-10-01T00:00:00Z", 2)]


def test_a_name_that_is_no_facet_is_refused(engine: ClickHouseEngine) -> None:
    assert facets(engine, "alliance_score_srs") == {"alliance_score_srs": []}
    for name in ("md5", "watchlist_1", "hostname`"):
        with pytest.raises(BadRequestError):
            facets(engine, name)


def test_the_number_of_binaries_is_known_for_the_guard_of_joins(engine: ClickHouseEngine) -> None:
    assert estimate_binaries(engine) == 0
    three(engine)
    assert estimate_binaries(engine) == 3


JOINED = [
    ("digsig_result:Signed", [1]),
    ("-digsig_result:Signed", [2]),
    ("-digsig_result:Unsigned", [1, 2]),
    ("digsig_result_process:Signed product_name:visual", [1]),
    ("digsig_result_modload:Unsigned", [1]),
    ("-digsig_result_modload:Unsigned", [2]),
    ("observed_filename_modload:d.exe", [2]),
    ("observed_filename:*", [1]),
    ("is_64bit:false", []),
    ("digsig_result_parent:*", []),
    ("original_filename:own.exe", [1]),
    ("host_count:2", [1]),
    ("prevalence:[1 TO 1]", []),
    ("prevalence_modload:1", [1, 2]),
    ("-prevalence:2", [2]),
    ("first_seen:[2020-01-01 TO *]", []),
    ("first_seen:[* TO 2020-01-01]", [1]),
]


@pytest.mark.parametrize(("query", "expected"), JOINED)
def test_a_join_asks_the_binaries_of_a_process(
    contract_engine: ClickHouseEngine, query: str, expected: list[int]
) -> None:
    three(contract_engine)
    two_processes(contract_engine)
    assert processes(contract_engine, query) == expected


def test_a_join_keeps_to_the_scope(contract_engine: ClickHouseEngine) -> None:
    three(contract_engine)
    two_processes(contract_engine)
    mine = Scope(frozenset({1}))
    assert processes(contract_engine, "digsig_result:Signed", mine) == []
    assert processes(contract_engine, "product_name:visual", mine) == [1]


def test_how_common_a_program_is_depends_on_the_scope(contract_engine: ClickHouseEngine) -> None:
    three(contract_engine)
    two_processes(contract_engine)
    mine = Scope(frozenset({1}))
    assert processes(contract_engine, "prevalence:1", mine) == [1]
    assert processes(contract_engine, "prevalence:2", mine) == []


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("prevalence_pair:1", [3, 5]),
        ("prevalence_pair:[2 TO *]", [1, 2, 4]),
        ("-prevalence_pair:[2 TO *]", [3, 5, 6]),
        ("prevalence_cmdline:[1 TO 1]", [3, 4]),
        ("prevalence_cmdline:2", [1, 2, 5]),
        ("prevalence_cmdline:2 prevalence_pair:1", [5]),
        ("prevalence_pair:0", []),
    ],
)
def test_how_a_program_is_run_is_common_or_rare(
    contract_engine: ClickHouseEngine, query: str, expected: list[int]
) -> None:
    """The fourth runs on a host of its own; the sixth has neither parent nor command line."""
    runs = [
        (1, "PS.exe", "x.exe", "ps -p 4711 a"),
        (2, "ps.exe", "X.EXE", "PS -p 12ab a"),
        (1, "ps.exe", "word.exe", "ps -enc a"),
        (3, "ps.exe", "x.exe", "ps -file b"),
        (2, "ps.exe", "rare.exe", "ps -p 9 a"),
        (2, "ps.exe", "", ""),
    ]
    for number, (sensor_id, name, parent, line) in enumerate(runs, 1):
        row = partial(
            number, sensor_id=sensor_id, process_name=name, parent_name=parent, cmdline=line
        )
        store(contract_engine, row)
    assert processes(contract_engine, query) == expected
    mine = Scope(frozenset({1}))
    assert processes(contract_engine, "prevalence_pair:[2 TO *]", mine) == []
    assert processes(contract_engine, "prevalence_cmdline:1", mine) == [1, 3]


def test_the_usage_of_a_file_is_counted_by_what_differs(contract_engine: ClickHouseEngine) -> None:
    three(contract_engine)
    lines = ("x.exe -p 4711", "X.exe -p 12", "x.exe --id 6f9619ff-8b86-d011-b42d-00c04fc964ff")
    for number, line in enumerate(lines):
        row = partial(number, sensor_id=1, process_md5=ONE, cmdline=line, parent_name="a.exe")
        store(contract_engine, row)
    store(contract_engine, partial(9, sensor_id=2, process_md5=ONE, parent_name="b.exe"))
    found = usage_of(contract_engine, [ONE, ""], EVERYTHING)
    assert (found.host_count, found.run_count) == (2, 4)
    assert [(one.hostname, list(one.paths)) for one in found.hosts] == [
        ("ws-2", ["c:\\b.exe"]),
        ("ws-1", ["c:\\a.exe"]),
    ]
    assert list(found.command_lines) == [("x.exe -p <n>", 2, 1), ("x.exe --id <n>", 1, 1)]
    assert list(found.parents) == [("a.exe", 3, 1), ("b.exe", 1, 1)]
    mine = usage_of(contract_engine, [ONE], Scope(frozenset({2})))
    assert (mine.host_count, mine.run_count, list(mine.command_lines)) == (1, 1, [])


RARE_ALONGSIDE = [
    ("process_name:ps.exe prevalence_cmdline:1", [2]),
    ("process_name:ps.exe prevalence_cmdline:1 -prevalence_pair:1", []),
    ("prevalence_pair:1 OR process_name:nobody.exe", [2]),
    ("parent_name:y.exe prevalence_cmdline:1 netconn_count:[* TO 5]", [2]),
    ("prevalence_cmdline:2 -domain:example.com", [0, 1]),
]


def test_rarity_beside_other_words_is_answered_by_every_plan(
    contract_engine: ClickHouseEngine,
) -> None:
    lines = (("x.exe", "ps -p 1"), ("x.exe", "ps -p 2"), ("y.exe", "ps -enc a"))
    for number, (parent, line) in enumerate(lines):
        columns = {"process_name": "ps.exe", "parent_name": parent, "cmdline": line}
        store(contract_engine, partial(number, sensor_id=1 + number, **columns))
        store(contract_engine, partial(number, sensor_id=1 + number, last_update=NOW_US))
    newest = (Sort("last_update", is_descending=True),)
    for query, expected in RARE_ALONGSIDE:
        for group, is_whole in (("", False), ("", True), ("id", False)):
            request = SearchRequest((("q", query),), 10, 0, newest, group, is_whole)
            answer = search_processes(contract_engine, EVERYTHING, request, Settings(), NOW_US)
            found_ids = sorted(int(row["process_id"][-12:], 16) for row in answer.rows)
            assert (found_ids, answer.total) == (expected, len(expected)), (query, group, is_whole)


@on_two_shards
def test_programs_that_somebody_signed_are_no_first_sights_of_unsigned_ones(
    contract_engine: ClickHouseEngine,
) -> None:
    rows = [
        seen(ONE, 1, "/a", 5, digsig_result="Unsigned"),
        seen(ONE, 2, "/a", 5, digsig_result="Signed"),
        seen(TWO, 1, "/b", 6, digsig_result="Unsigned"),
        seen(TWO, 2, "/b", 7),
        seen(THREE, 1, "/c", 8, digsig_result="Untrusted Root"),
    ]
    write_commit(contract_engine, Commit(binaries=rows))
    (sight,) = first_unsigned(contract_engine, [1, 2], 0, 10)
    assert (sight.md5, list(sight.sensors)) == (TWO, [1, 2])
    assert first_unsigned(contract_engine, [1, 2], 10_000, 10) == []
    assert first_unsigned(contract_engine, [3], 0, 10) == []


def test_matches_of_changed_rules_are_deleted_and_others_stay(
    contract_engine: ClickHouseEngine,
) -> None:
    three(contract_engine)
    write_yara_tags(contract_engine, [ONE], [("mine", "rule_a", 60), ("other", "rule_b", 7)], 5)
    write_yara_tags(contract_engine, [TWO], [("mine", "rule_a", 60)], 5)
    assert found(contract_engine, "alliance_data_yara:rule_a") == [TWO, ONE]
    for _ in range(2):
        delete_yara_tags(contract_engine, ["mine"])
    assert found(contract_engine, "alliance_data_yara:rule_a") == []
    assert found(contract_engine, "alliance_score_yara:7") == [ONE]


_ALL = {"segment": "*, key_hash", "binary": "*"}


@pytest.fixture
def shards(root_engine: ClickHouseEngine) -> Iterator[ClickHouseEngine]:
    """A cluster whose two shards hold the rows of sensor 1 and of sensor 2."""
    top = root_engine.sibling("test_two_shards", distributed("doubled"))
    whole = root_engine.sibling("test_all_shards", EMBEDDED)
    create_tables(whole)
    create_tables(top)
    for table in ("segment", "binary"):
        top.command(f"DROP TABLE {table}_local SYNC")
        rows = f"SELECT {_ALL[table]} FROM test_all_shards.{table} WHERE sensor_id = shardNum()"
        top.command(f"CREATE VIEW {table}_local AS {rows}")
    three(whole)
    two_processes(whole)
    yield top
    for engine in (top, whole):
        engine.close()
    for database in ("test_two_shards", "test_all_shards"):
        root_engine.command(f"DROP DATABASE {database} SYNC")


@pytest.mark.parametrize(("query", "expected"), JOINED)
def test_a_join_sees_the_binaries_of_every_shard(
    shards: ClickHouseEngine, query: str, expected: list[int]
) -> None:
    where = compile_segments(check(parse(query), now_us=0))
    # A view has no FINAL; every segment here is a single row.
    params = {**where.params, "scope_all": 1, "scope_sensors": []}
    sql = f"SELECT process_id FROM segment WHERE {where.sql} ORDER BY process_id"
    rows = shards.query(sql, params, settings={"distributed_product_mode": "local"}).rows
    assert [int(row[0][-12:], 16) for row in rows] == expected


def test_a_search_sums_up_over_every_shard(shards: ClickHouseEngine) -> None:
    assert found(shards, "digsig_result:Signed product_name:visual") == [ONE]
    assert found(shards, "host_count:2") == [ONE]

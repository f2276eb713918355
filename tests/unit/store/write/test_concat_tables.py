"""Tables of several processes are the tables that one would have made of their rows."""

import pyarrow as pa

from tests.contract.store.rows import HOUR_MS, NEXT_MS, partial
from vedette.model.event import UNKNOWN_IP, Filemod, Kept, Netconn
from vedette.model.segment import PartialSegment
from vedette.store.engine.arrow_arrays import packed, unpacked
from vedette.store.write.commit import Commit, CommitTables, RecordRow, commit_tables
from vedette.store.write.concat_tables import joined_tables


def file(path: str) -> Filemod:
    return Filemod("", 1_700_000_000_000_000, 1, path)


def connection() -> Netconn:
    return Netconn("", 1_700_000_000_000_000, 1, 6, UNKNOWN_IP, 1, UNKNOWN_IP, 443)


def made(*segments: PartialSegment, records: int = 0) -> CommitTables:
    kept = Kept(1_700_000_000_000_000, "Security", 4625, 9, "p", {"a": "b"})
    rows = [RecordRow(HOUR_MS, 1, "h", kept, 5, n) for n in range(records)]
    return commit_tables(Commit(segments=segments, records=rows))


def test_columns_that_some_leave_out_are_empty_for_their_rows() -> None:
    wrote, connected = partial(1, file("C:\\a"), file("C:\\b")), partial(2, connection())
    both = joined_tables([made(wrote), made(connected), made(partial(3))])
    assert table(both) == table(made(wrote, connected, partial(3)))


def test_each_partition_stays_one_insert_the_earliest_first() -> None:
    late = partial(1, file("C:\\a"), partition_ms=NEXT_MS)
    early, other = partial(2), partial(3, partition_ms=NEXT_MS)
    both = joined_tables([made(late), made(early, other)])
    assert [rows.column("partition_ms")[0].as_py() for rows in both.segments] == [HOUR_MS, NEXT_MS]
    assert [rows.num_rows for rows in both.segments] == [1, 2]


def test_tables_aside_that_only_some_have_are_all_there() -> None:
    both = joined_tables([made(partial(1), records=2), made(partial(2), records=1), made()])
    assert [(name, rows.num_rows) for name, rows in both.aside] == [("record", 3)]


def test_nothing_and_one_stay_what_they_are() -> None:
    assert joined_tables([]) == CommitTables([], [])
    one = made(partial(1))
    assert joined_tables([one]) is one


def table(tables: CommitTables) -> dict[str, list[object]]:
    """The rows of `segment` by column, as they come over a link."""
    (rows,) = [unpacked(packed(rows)) for rows in tables.segments]
    assert isinstance(rows, pa.Table)
    columns: dict[str, list[object]] = rows.to_pydict()
    return columns

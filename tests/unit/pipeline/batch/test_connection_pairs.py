"""Which of the connections that two logs tell count."""

import itertools
import random
from collections.abc import Iterable, Sequence

from hypothesis import given
from hypothesis import strategies as st

from vedette.ingest.record import Record
from vedette.model.event import Dnsquery, Facts, Netconn, Outcome
from vedette.pipeline.batch.connection_pairs import (
    CONNECTION_PAIR_TIMES_MAX,
    CONNECTION_PAIR_US,
    ConnectionPairs,
    connections,
)
from vedette.pipeline.batch.decoded_batch import DecodedBatch
from vedette.pipeline.submission import Submission

NOON_US = 1_700_049_600_000_000
SECOND_US = 1_000_000

Reported = tuple[int, bool]
"""Time, and whether it is Security's record."""

reported_lists = st.lists(
    st.tuples(
        st.integers(0, 12).map(lambda half_seconds: NOON_US + half_seconds * 2_500_000),
        st.booleans(),
    ),
    max_size=7,
)


def connection(reported: Reported, port: int = 443, domain: str = "", outbound: int = 1) -> Netconn:
    ours, theirs = b"\0" * 15 + b"\1", b"\0" * 15 + b"\2"
    return Netconn("1-p", reported[0], outbound, 6, ours, 50_000, theirs, port, domain)


def commit(reported: Iterable[tuple[Reported, Netconn]]) -> DecodedBatch:
    batch = DecodedBatch(Submission([], 1, 0, 0))
    for (time_us, is_security), event in reported:
        event_id = 5156 if is_security else 3
        batch.records.append(Record("windows", "h", time_us, "c", event_id))
        batch.results.append([event])
    return batch


def kept(batch: DecodedBatch) -> list[Netconn]:
    """The connections of a commit that count; each other record keeps its process and time."""
    outcomes: list[Outcome] = []
    for record, result in zip(batch.records, batch.results, strict=True):
        assert isinstance(result, list)
        assert len(result) == 1
        assert isinstance(result[0], Netconn) or result[0] == Facts("1-p", record.time_us, {})
        outcomes += result
    return [one for one in outcomes if isinstance(one, Netconn)]


def counted(*commits: Sequence[Reported]) -> int:
    pairs = ConnectionPairs()
    total = 0
    for reported in commits:
        batch = commit((one, connection(one)) for one in reported)
        pairs.merge([batch])
        total += len(kept(batch))
    return total


def most_pairs(sysmon: Sequence[int], security: Sequence[int]) -> int:
    """Returns the maximum number of pairs by exhaustive search."""
    if not sysmon:
        return 0
    first, rest = sysmon[0], sysmon[1:]
    return max(
        most_pairs(rest, security),
        *(
            1 + most_pairs(rest, [*security[:n], *security[n + 1 :]])
            for n, time_us in enumerate(security)
            if abs(time_us - first) <= CONNECTION_PAIR_US
        ),
        0,
    )


@given(reported_lists)
def test_connections_are_those_told_without_as_many_pairs_as_there_can_be(
    reported: list[Reported],
) -> None:
    sysmon = [time_us for time_us, is_security in reported if not is_security]
    security = [time_us for time_us, is_security in reported if is_security]
    named = [(*one, "") for one in reported]
    assert connections(named) == len(reported) - most_pairs(sysmon, security)


@given(reported_lists, st.lists(st.integers(0, 7), max_size=3), st.integers(0, 2**31))
def test_neither_order_nor_division_into_commits_changes_the_count(
    reported: list[Reported], cuts: list[int], seed: int
) -> None:
    random.Random(seed).shuffle(reported)
    places = [0, *sorted(cuts), len(reported)]
    divided = [reported[begin:end] for begin, end in itertools.pairwise(places)]
    assert counted(*divided) == connections((*one, "") for one in reported) == counted(reported)


def test_of_a_pair_in_one_commit_the_record_of_sysmon_counts_with_the_name_that_either_has() -> (
    None
):
    reported = [(NOON_US + SECOND_US, True), (NOON_US, False)]
    for names in (("", "a.example"), ("a.example", "")):
        events = [connection(one, domain=name) for one, name in zip(reported, names, strict=True)]
        batch = commit(zip(reported, events, strict=True))
        ConnectionPairs().merge([batch])
        assert kept(batch) == [connection((NOON_US, False), domain="a.example")]


def test_a_name_that_only_the_second_record_has_is_stored_once_as_one_that_was_asked_for() -> None:
    pairs = ConnectionPairs()
    first, second, third = (NOON_US, True), (NOON_US + 1, False), (NOON_US + 2, True)
    pairs.merge([commit([(first, connection(first))])])
    batch = commit([(second, connection(second, domain="c2.example"))])
    pairs.merge([batch])
    assert batch.results == [[Dnsquery("1-p", NOON_US + 1, "c2.example", 0, "")]]
    more = commit([(third, connection(third, domain="c2.example"))])
    pairs.merge([more])
    again = commit([((NOON_US + 3, False), connection(second, domain="c2.example"))])
    pairs.merge([again])
    assert again.results == [[Facts("1-p", NOON_US + 1, {})]]


def test_other_ends_and_other_directions_are_other_connections() -> None:
    one, other = (NOON_US, False), (NOON_US, True)
    batch = commit(
        [
            (one, connection(one)),
            (other, connection(other, port=444)),
            (other, connection(other, outbound=0)),
        ]
    )
    ConnectionPairs().merge([batch])
    assert len(kept(batch)) == 3


def test_the_logs_may_differ_in_which_end_is_the_source() -> None:
    one, other = (NOON_US, False), (NOON_US, True)
    swapped = connection(other, outbound=0)
    swapped.local_ip, swapped.remote_ip = swapped.remote_ip, swapped.local_ip
    swapped.local_port, swapped.remote_port = swapped.remote_port, swapped.local_port
    batch = commit([(one, connection(one, outbound=0)), (other, swapped)])
    ConnectionPairs().merge([batch])
    assert kept(batch) == [connection(one, outbound=0)]


def test_records_of_other_kinds_stay_as_they_are() -> None:
    batch = commit([((NOON_US, False), connection((NOON_US, False)))])
    batch.records.append(Record("auditd", "h", NOON_US, "auditd", 5156))
    batch.records.append(Record("windows", "h", NOON_US, "c", 3))
    batch.results += [[connection((NOON_US, True))], 2]
    before = list(batch.results)
    ConnectionPairs().merge([batch])
    assert batch.results == before


def test_what_is_remembered_of_two_ports_is_bounded() -> None:
    flood = [(NOON_US + n, False) for n in range(10 * CONNECTION_PAIR_TIMES_MAX)]
    assert counted(flood) == len(flood)
    assert counted(flood, [(one, True) for one, _ in flood]) == len(flood) + (
        len(flood) - CONNECTION_PAIR_TIMES_MAX
    )


def test_after_a_reset_nothing_is_taken_for_stored() -> None:
    pairs = ConnectionPairs()
    one = (NOON_US, False)
    pairs.merge([commit([(one, connection(one))])])
    pairs.reset()
    again = commit([((NOON_US, True), connection((NOON_US, True)))])
    pairs.merge([again])
    assert len(kept(again)) == 1

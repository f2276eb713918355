"""Pairs records that report the same connection: Sysmon 3 and Security 5156 with the same process,
direction, protocol, addresses and ports, within `CONNECTION_PAIR_US`.

Records of the same log are never paired. With n records of Sysmon and m of Security, of which at
most p can be paired, there are n + m - p connections. This number depends only on the reports, so
the order in which records and requests arrive changes no count (`connections`). Of a pair in one
commit, the Sysmon record counts, because it may name the host. Of a pair in several commits, the
record that was stored first counts, because the later commit only sees that the connection exists.

A record that does not count stays as a time of its process, which keeps the record's key. If it has
a name that no counted record has, it stays as a name that the process queried, so that searches and
indicators find it. Not thread-safe: owned by the batch processor.
"""

from collections.abc import Iterable

from vedette.ingest.context.two_generation_cache import GenerationCache
from vedette.ingest.record import Record
from vedette.limits import Limit
from vedette.model.event import Dnsquery, Facts, Netconn, Outcome
from vedette.pipeline.batch.decoded_batch import DecodedBatch

CONNECTION_PAIR_US: Limit[int] = 5 * 1_000_000
"""Maximum time between a Sysmon and a Security record that report the same connection: in recorded
logs they are up to a second apart, on the corrected clock."""

CONNECTION_PAIR_TIMES_MAX: Limit[int] = 32
"""Records cached for one pair of endpoints. More are a flood between two ports, and only the newest
are paired."""

CONNECTIONS_CACHED_MAX: Limit[int] = 32_768
"""Connections that a worker caches in case the other log reports them as well: 8 MB, and half a
minute of a worker at its fastest."""


_SECURITY = 5156
_EVENT_IDS = frozenset({3, _SECURITY})


_Connection = tuple[int, bool, Netconn, list[Outcome], int]
"""A record of the commit that reports a connection: time, whether it is a Security record, event,
outcomes of the record, index of the event in these outcomes."""

_Known = list[tuple[int, bool, str]]
"""(time, whether it is a Security record, name) of each report."""


class ConnectionPairs:
    """The times of recent connections, with the log that reported each."""

    def __init__(self) -> None:
        self._known: GenerationCache[int, _Known] = GenerationCache(CONNECTIONS_CACHED_MAX)

    def reset(self) -> None:
        """Drops all cached connections, because they may not have been stored."""
        self._known = GenerationCache(CONNECTIONS_CACHED_MAX)

    def merge(self, batches: Iterable[DecodedBatch]) -> None:
        """Replaces, in the results of a commit, connections that other records of this commit or of
        earlier commits also report."""
        groups: dict[int, list[_Connection]] = {}
        for batch in batches:
            for record, result in zip(batch.records, batch.results, strict=True):
                if record.event_id in _EVENT_IDS and type(result) is list:
                    found = _connection_of(record, result)
                    if found is not None:
                        groups.setdefault(_key(found[2]), []).append(found)
        for key, group in groups.items():
            self._merge(key, group)

    def _merge(self, key: int, group: list[_Connection]) -> None:
        known = self._known.get(key)
        if known is None and len(group) == 1:  # nearly always
            time_us, is_security, event, _, _ = group[0]
            self._known[key] = [(time_us, is_security, event.domain)]
            return
        known = known or []
        both = known + [(one[0], one[1], one[2].domain) for one in group]
        self._known[key] = sorted(both)[-CONNECTION_PAIR_TIMES_MAX:]
        surplus = len(group) + connections(known) - connections(both)
        if surplus:
            # Security records first: a Sysmon record may name the host.
            group.sort(key=lambda one: (not one[1], one[0]))
            _leave_out(group[:surplus], group[surplus:], {name for _, _, name in known})


def _leave_out(surplus: list[_Connection], rest: list[_Connection], names: set[str]) -> None:
    """Replaces the `surplus` connections by times or queried names. `names` are already stored."""
    name = next((event.domain for _, _, event, _, _ in surplus if event.domain), "")
    for _, _, event, _, _ in rest:
        event.domain = event.domain or name
    names = {"", *names, *(event.domain for _, _, event, _, _ in rest)}
    for time_us, _, event, outcomes, at in surplus:
        outcomes[at] = Facts(event.process_id, time_us, {})
        if event.domain not in names:
            names.add(event.domain)
            outcomes[at] = Dnsquery(event.process_id, time_us, event.domain, 0, "")


def connections(reports: Iterable[tuple[int, bool, str]]) -> int:
    """Returns the number of connections in these reports: all reports minus the largest possible
    number of pairs."""
    times: tuple[list[int], list[int]] = ([], [])
    for time_us, is_security, _ in reports:
        times[is_security].append(time_us)
    ours, theirs = map(sorted, times)
    pairs = n = m = 0
    while n < len(ours) and m < len(theirs):
        if abs(ours[n] - theirs[m]) <= CONNECTION_PAIR_US:
            pairs, n, m = pairs + 1, n + 1, m + 1
        elif ours[n] < theirs[m]:
            n += 1
        else:
            m += 1
    return len(ours) + len(theirs) - pairs


def _connection_of(record: Record, outcomes: list[Outcome]) -> _Connection | None:
    if record.vedette_record == "windows":
        for at, outcome in enumerate(outcomes):
            if type(outcome) is Netconn:
                return outcome.time_us, record.event_id == _SECURITY, outcome, outcomes, at
    return None


def _key(event: Netconn) -> int:
    """Returns the same key for all connections between the same endpoints; a process id implies
    the host. The endpoints are sorted because the logs disagree on the source of an incoming
    datagram."""
    local, remote = (event.local_ip, event.local_port), (event.remote_ip, event.remote_port)
    ends = (local, remote) if local < remote else (remote, local)
    return hash((event.process_id, event.outbound, event.protocol, ends))

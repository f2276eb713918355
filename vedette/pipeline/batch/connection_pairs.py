"""Pairs of records that report one connection: Sysmon 3 and Security 5156 of the same process,
direction, protocol, addresses and ports, within `CONNECTION_PAIR_US`.

Records of one log are never taken for each other. Of n records of Sysmon and m of Security, of
which p can be paired at most, n + m - p are connections: a function of what was reported, so that
the order in which records and requests come changes no count (`connections`). Of a pair in one
commit the record of Sysmon counts, which may name the host; of a pair in several commits the one
that was stored first, as the other sees only that its connection is there.

A record that does not count stays as a time of its process, which keeps the record's key; one with
a name that no counted record has, as a name that the process asked for, so that searches and
indicators find it. Not thread-safe: owned by the batch processor.
"""

from collections.abc import Iterable

from vedette.ingest.context.two_generation_cache import GenerationCache
from vedette.ingest.record import Record
from vedette.limits import CONNECTION_PAIR_TIMES_MAX, CONNECTION_PAIR_US, CONNECTIONS_CACHED_MAX
from vedette.model.event import Dnsquery, Facts, Netconn, Outcome
from vedette.pipeline.batch.decoded_batch import DecodedBatch

_SECURITY = 5156
_EVENT_IDS = frozenset({3, _SECURITY})


_Connection = tuple[int, bool, Netconn, list[Outcome], int]
"""A record of the commit that reports a connection: its time, whether it is of Security, the event,
and its place in the outcomes of the record."""

_Known = list[tuple[int, bool, str]]
"""Time, whether it is of Security, and name."""


class ConnectionPairs:
    """The times of the last connections, with the log that reported each."""

    def __init__(self) -> None:
        self._known: GenerationCache[int, _Known] = GenerationCache(CONNECTIONS_CACHED_MAX)

    def reset(self) -> None:
        """Forgets everything: what is kept may not have been stored."""
        self._known = GenerationCache(CONNECTIONS_CACHED_MAX)

    def merge(self, batches: Iterable[DecodedBatch]) -> None:
        """Replaces, in the results of a commit, connections that its other records or those of
        earlier commits report as well."""
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
            # Security's first, since Sysmon's record may name the host.
            group.sort(key=lambda one: (not one[1], one[0]))
            _leave_out(group[:surplus], group[surplus:], {name for _, _, name in known})


def _leave_out(surplus: list[_Connection], rest: list[_Connection], names: set[str]) -> None:
    """`names` are those that are stored already."""
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
    """How many connections these times, each with its log, report: all of them without the greatest
    number of pairs that can be made."""
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
    """Of all connections with the same ends; a process is of one host. The logs do not agree which
    end of an incoming datagram is its source."""
    local, remote = (event.local_ip, event.local_port), (event.remote_ip, event.remote_port)
    ends = (local, remote) if local < remote else (remote, local)
    return hash((event.process_id, event.outbound, event.protocol, ends))

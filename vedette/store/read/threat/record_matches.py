"""Matches kept records with the indicators of feeds, by keys (`indicator_matches.py`).

A record has no columns for indicator values, only values under the sender's names. A value that as
a whole is an address or a name counts as such; also the hosts of URLs and the hashes that a value
contains as words. Long values are text by people or programs and are skipped, and so are versions,
which look like addresses.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from vedette.limits import INDICATOR_HITS_PAGE, Limit
from vedette.model.threat.report_columns import ADDRESS_KEY, VALUE_KEY
from vedette.store.engine.client import Engine

RECORD_VALUE_CHARS_MATCHED: Limit[int] = 512
"""Characters up to which a value of a kept record is matched with indicators; longer values are
scripts and messages."""


_VALUES: Final = (
    "mapValues(mapFilter((k, v) -> length(v) >= 4 "
    f"AND length(v) <= {RECORD_VALUE_CHARS_MATCHED:d} "
    "AND positionCaseInsensitive(k, 'version') = 0, fields))"
)
_URL_HOST: Final = "(?i)\\\\bhttps?://(?:[^/?#@\\\\s]*@)?([a-z0-9_.-]+)"
NAMES: Final = (
    "arrayConcat("
    "arrayFilter(v -> match(v, '^[A-Za-z0-9_-]+([.][A-Za-z0-9_-]+)+[.]?$') "
    f"AND NOT isIPv4String(v), {_VALUES}), "
    f"arrayFlatten(arrayMap(v -> extractAll(v, '{_URL_HOST}'), {_VALUES})))"
)
"""SQL: the host names in a record."""

_ADDRESSES: Final = f"arrayFilter(v -> isIPv4String(v) OR isIPv6String(v), {_VALUES})"


def _hashes(kind: str, digits: int) -> str:
    found = (
        f"arrayFlatten(arrayMap(v -> extractAll(v, '\\\\b[0-9A-Fa-f]{{{digits}}}\\\\b'), "
        f"{_VALUES}))"
    )
    key = VALUE_KEY.format(kind=f"'{kind}'", value="lower(x)")
    return f"arrayMap(x -> {key}, arrayDistinct({found}))"


def record_keys(bits: str) -> str:
    """Returns SQL for the keys of a record except its names; `bits` is the parameter with the
    prefix lengths of networks."""
    address = ADDRESS_KEY.format(network="tupleElement(IPv6CIDRToRange(a, b), 1)", bits="b")
    return (
        f"arrayConcat({_hashes('md5', 32)}, {_hashes('sha256', 64)}, "
        f"arrayFlatten(arrayMap(b -> arrayMap(a -> {address}, "
        f"arrayDistinct(arrayMap(v -> toIPv6(v), {_ADDRESSES}))), {{{bits}:Array(UInt8)}})))"
    )


@dataclass(frozen=True, slots=True)
class RecordHit:
    """Records of one commit and one kind, of one host and one day, that have an indicator."""

    seq: int
    sensor_id: int
    channel: str
    event_id: int
    day: str
    """In the form `2026-01-31` (UTC)."""
    key: int
    count: int
    first_us: int
    provider: str
    """Provider of the earliest record, which also supplies `fields`."""
    fields: Mapping[str, str]


def records_with(
    engine: Engine, keys_sql: str, condition: str, params: Mapping[str, Any]
) -> Iterator[list[RecordHit]]:
    """Yields the records that a condition selects and that have one of the keys in the parameter
    `keys`, in the order of commits, in pages."""
    after: Sequence[Any] = (0, 0, "", 0, "", 0)
    while True:
        found = engine.query(
            "SELECT seq, sensor_id, channel, event_id, toString(toDate(time)) AS day, key, "
            "count(), toUnixTimestamp64Micro(min(time)), argMin(provider, (time, record_id)), "
            "argMin(fields, (time, record_id)) FROM (SELECT *, arrayJoin("
            f"arrayIntersect({keys_sql}, {{keys:Array(UInt64)}})) AS key "
            f"FROM record WHERE {condition}) "
            f"WHERE ({_ORDER}) > ({_AFTER}) GROUP BY {_ORDER} ORDER BY {_ORDER} "
            f"LIMIT {INDICATOR_HITS_PAGE:d}",
            {**params, **{f"at_{n}": value for n, value in enumerate(after)}},
        ).rows
        page = [RecordHit(*row) for row in found]
        if page:
            yield page
        if len(page) < INDICATOR_HITS_PAGE:
            return
        after = found[-1][: len(after)]


_ORDER: Final = "seq, sensor_id, channel, event_id, day, key"
_AFTER: Final = (
    "{at_0:UInt64}, {at_1:UInt32}, {at_2:String}, {at_3:UInt32}, {at_4:String}, {at_5:UInt64}"
)

"""Facet counts of a binary search.

One pass counts all facets: each binary yields a pair (facet number, value) per value. Unknown
values are left out.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Final

from vedette.errors import BadRequestError
from vedette.limits import FACET_START_DAYS, SEGMENT_FACET_VALUES_MAX, Limit
from vedette.model.binary_fields import BINARY
from vedette.model.scope import Scope
from vedette.query.compile.condition import SETTINGS, BinaryCondition
from vedette.store.engine.client import Engine
from vedette.store.sql.scope_filter import scope_params

FACET_SIGNATURE_MONTHS: Limit[int] = 48
"""Months covered by the facet `digsig_sign_time`, the current one included."""


_SINCE: Final = "`{0}` >= fromUnixTimestamp64Micro({{{0}_from:Int64}}, 'UTC')"

FACETS: Mapping[str, str] = MappingProxyType(
    {
        "product_name_facet": "[product_name]",
        "file_version_facet": "[file_version]",
        "company_name_facet": "[company_name]",
        "digsig_publisher_facet": "[digsig_publisher]",
        "digsig_result": "[digsig_result]",
        "digsig_sign_time": (
            f"if({_SINCE.format('digsig_sign_time')}, "
            "[concat(toString(toStartOfMonth(digsig_sign_time)), 'T00:00:00Z')], [])"
        ),
        "server_added_timestamp": (
            f"if({_SINCE.format('added')}, [concat(toString(toDate(added)), 'T00:00:00Z')], [])"
        ),
        "observed_filename_facet": "observed_filename",
        "host_count": "[toString(host_count)]",
        "hostname": "hostname",
        "group": "`group`",
    }
)
"""Facets of binary search (docs/api-objects.md#facets) and the SQL lists of their values. There is
one `alliance_score_<feed>` per feed, for binaries that the feed names."""

_IN_ORDER: Final = frozenset({"digsig_sign_time", "server_added_timestamp"})

Counts = dict[str, list[tuple[str, int]]]


def count_binary_facets(
    engine: Engine,
    where: BinaryCondition,
    scope: Scope,
    names: Sequence[str],
    now_us: int,
    *,
    is_rarest: bool = False,
    deadline_s: float | None = None,
) -> Counts:
    """Returns the `SEGMENT_FACET_VALUES_MAX` most frequent values of each named facet with their
    counts, the most frequent first, or the least frequent ones; times are sorted, the earliest
    first.

    Raises BadRequestError for an unknown facet, UnavailableError when it takes longer than
    `deadline_s`.
    """
    counts: Counts = {name: [] for name in names}
    feeds = {name: feed for name in counts if (feed := _feed_of(name))}
    counted = [name for name in counts if name not in feeds]
    params = {**where.params, **scope_params(scope)}
    if counted:
        found = engine.query(
            _counting(where, counted, is_rarest),
            {**params, **_starts(now_us)},
            settings=SETTINGS,
            deadline_s=deadline_s,
        )
        for which, value, count in found.rows:
            counts[counted[which]].append((value, count))
    for name, feed in feeds.items():
        scores = engine.query(
            _scores(where), {**params, "feed": feed}, settings=SETTINGS, deadline_s=deadline_s
        )
        counts[name] = [(str(score), count) for score, count in scores.rows]
    return {
        name: sorted(values) if name in _IN_ORDER else values for name, values in counts.items()
    }


def _feed_of(name: str) -> str:
    """Returns the feed of a score facet; "" for other facets. Raises BadRequestError."""
    if name in FACETS:
        return ""
    field = BINARY.find(name)
    if field is None or field.tag is None or not name.lower().startswith("alliance_score_"):
        raise BadRequestError(f"facet.field: unknown facet {name[:60]!r}")
    return field.tag.name


def _scores(where: BinaryCondition) -> str:
    """Returns SQL that counts binaries by the greatest score that the feed gives them, which is the
    score shown."""
    newest = (
        "SELECT hash, max(said).2 AS score FROM binary_tag "
        "WHERE family = 'alliance' AND name = {feed:String} GROUP BY hash, report, ioc"
    )
    return (
        "SELECT greatest_score, count() AS counted FROM ("
        f"SELECT hash, max(score) AS greatest_score FROM ({newest}) "
        f"WHERE hash GLOBAL IN (SELECT hash FROM ({where.binaries})) GROUP BY hash"
        ") GROUP BY greatest_score ORDER BY counted DESC, greatest_score DESC "
        f"LIMIT {SEGMENT_FACET_VALUES_MAX}"
    )


def _counting(where: BinaryCondition, names: Sequence[str], is_rarest: bool) -> str:
    pairs = ", ".join(
        f"arrayMap(v -> ({number}, toString(v)), {FACETS[name]})"
        for number, name in enumerate(names)
    )
    order = "ASC" if is_rarest else "DESC"
    return (
        "SELECT pair.1 AS which, pair.2 AS value, count() AS counted "
        f"FROM (SELECT arrayJoin(arrayConcat({pairs})) AS pair FROM ({where.binaries})) "
        "WHERE value != '' GROUP BY which, value "
        f"ORDER BY which, counted {order}, value LIMIT {SEGMENT_FACET_VALUES_MAX} BY which"
    )


def _starts(now_us: int) -> dict[str, int]:
    """Returns the start of the counted days and months, epoch microseconds."""
    now = datetime.fromtimestamp(now_us / 1_000_000, UTC)
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    month = today.year * 12 + today.month - 1 - (FACET_SIGNATURE_MONTHS - 1)
    first = today.replace(year=month // 12, month=month % 12 + 1, day=1)
    since = today - timedelta(days=FACET_START_DAYS - 1)
    return {
        "digsig_sign_time_from": int(first.timestamp()) * 1_000_000,
        "added_from": int(since.timestamp()) * 1_000_000,
    }

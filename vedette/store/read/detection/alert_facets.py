"""Facet counts of an alert search."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from vedette.errors import BadRequestError
from vedette.limits import SEGMENT_FACET_VALUES_MAX
from vedette.model.findings.alert import ALERT_TEXTS
from vedette.model.scope import Scope
from vedette.query.compile.condition import SETTINGS, Condition
from vedette.store.engine.client import Engine
from vedette.store.plan.search_bounds import EVERYWHERE, Reach
from vedette.store.sql.scope_filter import scoped

_DAY: Final = "concat(toString(toDate({})), 'T00:00:00Z')"

FACETS: Mapping[str, str] = MappingProxyType(
    {
        **{
            name: f"`{name}`"
            for name in (
                "status",
                "alert_type",
                "hostname",
                "group",
                "username",
                "os_type",
                "level",
                "process_name",
                "feed_name",
                "watchlist_name",
                "ioc_type",
                "ioc_value",
                "assigned_to",
                "title",
                "report_id",
                "md5",
            )
        },
        **{
            name: f"toString(`{name}`)"
            for name in ("feed_id", "watchlist_id", "sensor_id", "total_hosts")
        },
        **{
            name: f"toString(intDiv(`{name}`, 1000))"
            for name in ("alert_severity", "report_score", "sensor_criticality", "feed_rating")
        },
        "process_path": "process_path",
        "source": "source_kind",
        "source_id": "source_id",
        "report_ignored": "if(report_ignored, 'true', 'false')",
        "tags": "tags",
        "techniques": "techniques",
        "observed_filename": "observed_filename",
        "created_time": _DAY.format("created_time"),
    }
)
"""Facets of alert search (docs/alerts.md#facets) and the SQL of their values; severities and scores
are truncated to integers, times to days. `NAME_full` and `NAME_facet` are synonyms of `NAME`."""

_LISTS: Final = frozenset(ALERT_TEXTS)
"""Facets with several values per alert."""

_IN_ORDER: Final = frozenset({"created_time"})

Counts = dict[str, list[tuple[str, int]]]


def facet_name(name: str) -> str:
    """Resolves the synonyms of a facet name. Raises BadRequestError."""
    for ending in ("", "_full", "_facet"):
        known = name.removesuffix(ending)
        if known in FACETS:
            return known
    raise BadRequestError(f"facet.field: unknown facet {name[:60]!r}")


def count_alert_facets(
    engine: Engine,
    where: Condition,
    scope: Scope,
    names: Sequence[str],
    *,
    reach: Reach = EVERYWHERE,
) -> Counts:
    """Returns the `SEGMENT_FACET_VALUES_MAX` most frequent values of each named facet with their
    counts, the most frequent first; days in order. Unknown values are left out.

    Raises BadRequestError for an unknown facet, UnavailableError when it takes longer than `reach`
    allows.
    """
    return total_and_facets(engine, where, scope, names, reach=reach)[1] if names else {}


def total_and_facets(
    engine: Engine,
    where: Condition,
    scope: Scope,
    names: Sequence[str],
    *,
    values: int = SEGMENT_FACET_VALUES_MAX,
    is_rarest: bool = False,
    reach: Reach = EVERYWHERE,
) -> tuple[int, Counts]:
    """Returns the exact number of alerts, and the counts of `count_alert_facets`: at most `values`
    per facet, with `is_rarest` the least frequent, the rarest first.

    All facets with a single value per alert are counted in one pass, as grouping sets: columns of
    repeated texts are grouped by their dictionaries, and versions are merged once.
    """
    counts: Counts = {name: [] for name in names}
    within = scoped(where, scope)
    total = 0
    single = [name for name in counts if facet_name(name) not in _LISTS]
    lists = [name for name in counts if facet_name(name) in _LISTS]
    order = "ASC" if is_rarest else "DESC"
    most = min(values, SEGMENT_FACET_VALUES_MAX)
    asked = [(single, _singles(single, within))]
    if lists:
        asked.append((lists, _listed(lists, within)))
    for which, selected in asked:
        found = engine.query(
            f"SELECT which, shown, counted FROM ({selected}) WHERE which != 0 AND shown != '' "
            f"ORDER BY which, counted {order}, shown LIMIT {most:d} BY which",
            within.params,
            settings={**SETTINGS, "prefer_column_name_to_alias": 1},
            deadline_s=reach.left_s(),
        )
        for number, value, count in found.rows:
            if number > len(which):
                total = count
            else:
                counts[which[number - 1]].append((value, count))
    for name in counts:
        if facet_name(name) in _IN_ORDER:
            counts[name].sort()
    return total, counts


def _singles(names: Sequence[str], within: Condition) -> str:
    """Returns SQL that counts alerts by the values of each facet (numbered from 1), and then all
    alerts."""
    keys = [*(FACETS[facet_name(name)] for name in names), "materialize('1')"]
    named = ", ".join(f"{key} AS key_{number}" for number, key in enumerate(keys, 1))
    sets = ", ".join(f"(key_{number})" for number in range(1, len(keys) + 1))
    # Only the key of the row's own grouping set has a value.
    values = ", ".join(f"toString(key_{number})" for number in range(1, len(keys) + 1))
    return (
        f"SELECT [{values}] AS keys, arrayFirstIndex(key -> key != '', keys) AS which, "
        "keys[which] AS shown, counted FROM ("
        f"SELECT {named}, count() AS counted FROM alert FINAL {within.clause} "
        f"GROUP BY GROUPING SETS ({sets}))"
    )


def _listed(names: Sequence[str], within: Condition) -> str:
    """Returns SQL that counts alerts by the values of list facets (numbered from 1)."""
    pairs = ", ".join(
        f"arrayMap(v -> ({number}, toString(v)), {FACETS[facet_name(name)]})"
        for number, name in enumerate(names, 1)
    )
    return (
        "SELECT pair.1 AS which, pair.2 AS shown, count() AS counted "
        f"FROM (SELECT arrayJoin(arrayConcat({pairs})) AS pair FROM alert FINAL "
        f"{within.clause}) GROUP BY which, shown"
    )

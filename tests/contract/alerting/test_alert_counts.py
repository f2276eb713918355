"""Facets and groups count what counting alert by alert finds, whoever asks, on every engine."""

from collections import Counter
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import partial
from random import Random
from typing import Any

from tests.contract.alerting.detections import NOW_US, detection
from tests.support.forms import in_form
from vedette.alerting.alert_rows import Context, new_alert
from vedette.model.alert_fields import ALERT
from vedette.model.findings.alert import STATUSES, AlertRow
from vedette.model.scope import EVERYTHING, Scope
from vedette.query import check, parse
from vedette.query.compile.alerts_sql import compile_alerts
from vedette.search.alerts import alert_search
from vedette.search.search_request import SearchRequest, Sort
from vedette.settings import Settings
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.read.detection.alert_facets import (
    FACETS,
    count_alert_facets,
    total_and_facets,
)
from vedette.store.read.detection.alert_groups import GROUPINGS, AlertGroup, group_alerts
from vedette.store.write.alerts import write_alerts

DAY_US = 86_400_000_000
NAMES = ("", "a", "B", "it's \\ [1] {x:String}", "<b>ü</b>", "1", "0")
"""Values that a mistake could take for others: numbers of facets, none, SQL."""


def drawn(number: int, chance: Random) -> AlertRow:
    sensor_id = chance.randrange(6)
    found = new_alert([detection(number, sensor_id=sensor_id)], Context(), NOW_US + number)
    texts = ("username", "process_name", "process_path", "assigned_to", "title", "ioc_value")
    return found | {
        **{name: chance.choice(NAMES) for name in texts},
        "hostname": f"ws-{sensor_id % 4}" if sensor_id else "",
        "group": chance.choice(("", "Default Group", "Finance")),
        "os_type": chance.choice(("windows", "linux")),
        "status": chance.choice(STATUSES),
        "feed_id": chance.choice((-1, 0, 7)),
        "alert_severity": chance.randrange(100_000),
        "report_ignored": chance.randrange(2),
        "tags": chance.sample(NAMES, chance.randrange(3)),
        "techniques": chance.sample(("T1059", "T1003"), chance.randrange(3)),
        # Alerts of one commit have one time.
        "created_time": NOW_US + chance.randrange(3) * DAY_US + number // 4,
        "count": chance.randrange(1, 9),
    }


def stored_alerts(engine: ClickHouseEngine, chance: Random, count: int) -> list[AlertRow]:
    """Alerts in their newest versions, after the older ones of some."""
    newest = [drawn(number, chance) for number in range(count)]
    changed = [one for one in newest if chance.random() < 0.4]
    write_alerts(engine, newest)
    for version in (2, 3):
        for row in changed:
            row |= {
                "version": row["version"] + version,
                "status": chance.choice(STATUSES),
                "assigned_to": chance.choice(NAMES),
                "report_ignored": chance.randrange(2),
            }
        write_alerts(engine, changed)
    return newest


def without_decimals(name: str, row: AlertRow) -> str:
    return str(row.get(name, 0) // 1_000)


SINGLE: dict[str, Callable[[AlertRow], Any]] = {
    "source": lambda row: row["source_kind"],
    "report_ignored": lambda row: "true" if row["report_ignored"] else "false",
    "created_time": lambda row: datetime.fromtimestamp(row["created_time"] / 1e6, UTC).strftime(
        "%Y-%m-%dT00:00:00Z"
    ),
    **{
        name: partial(without_decimals, name)
        for name in ("alert_severity", "report_score", "sensor_criticality", "feed_rating")
    },
}


def values_of(name: str, row: AlertRow) -> Iterable[str]:
    if name in SINGLE:
        return [SINGLE[name](row)]
    value = row[name]
    return value if isinstance(value, list) else [str(value)]


def counted(name: str, rows: list[AlertRow]) -> list[tuple[str, int]]:
    found = Counter(value for row in rows for value in values_of(name, row) if value)
    pairs = sorted(found.items(), key=lambda pair: (-pair[1], pair[0].encode()))
    return sorted(pairs) if name == "created_time" else pairs


def group_of(rows: list[AlertRow]) -> tuple[Any, ...]:
    newest = max(rows, key=lambda row: (row["created_time"], row["id"]))
    return (
        newest["title"],
        newest["id"],
        len(rows),
        sum(row["count"] for row in rows),
        len({row["sensor_id"] for row in rows}),
        max(row["alert_severity"] for row in rows),
        min(row["created_time"] for row in rows),
        newest["created_time"],
        dict(Counter(row["status"] for row in rows)),
    )


def shown(one: AlertGroup) -> tuple[Any, ...]:
    head = (one.title, one.newest_id, one.count, one.events, one.hosts, one.severity_max)
    return *head, one.first_us, one.newest_us, dict(one.statuses)


ASKED: dict[str, Callable[[AlertRow], bool]] = {
    "": bool,
    '-status:Resolved -status:"False Positive"': lambda row: (
        row["status"] in ("Unresolved", "In Progress")
    ),
    "alert_severity:[50 TO *] status:Resolved": lambda row: (
        row["alert_severity"] >= 50_000 and row["status"] == "Resolved"
    ),
    "hostname:ws-1": lambda row: row["hostname"] == "ws-1",
    "title:nothing-has-this": lambda row: not row,
}


def test_every_count_is_that_of_each_alert_which_the_reader_may_see(
    contract_engine: ClickHouseEngine,
) -> None:
    chance = Random(11)
    rows = stored_alerts(contract_engine, chance, in_form(120, 300))
    scopes = (EVERYTHING, Scope(frozenset({1, 2, 4})), Scope(frozenset({3})), Scope(frozenset()))
    for query, is_found in ASKED.items():
        where = compile_alerts(check(parse(query, ALERT), ALERT, now_us=NOW_US))
        for scope in scopes:
            seen = [row for row in rows if is_found(row) and _may_see(scope, row)]
            names = tuple(chance.sample(sorted(FACETS), len(FACETS)))
            total, facets = total_and_facets(contract_engine, where, scope, names)
            assert total == len(seen)
            assert facets == {name: counted(name, seen) for name in names}
            some = names[: chance.randrange(4)]
            some_facets = {name: facets[name] for name in some}
            assert count_alert_facets(contract_engine, where, scope, some) == some_facets
            _check_groups(contract_engine, query, scope, seen)


def _may_see(scope: Scope, row: AlertRow) -> bool:
    return scope.sees_all or row["sensor_id"] in (scope.sensors or ())


def _check_groups(engine: ClickHouseEngine, query: str, scope: Scope, seen: list[AlertRow]) -> None:
    where = compile_alerts(check(parse(query, ALERT), ALERT, now_us=NOW_US))
    for by in ("source", "hostname", "username", "status", "assigned_to", "title"):
        of_value: dict[tuple[Any, ...], list[AlertRow]] = {}
        for row in seen:
            of_value.setdefault(tuple(row[name] for name in GROUPINGS[by]), []).append(row)
        found = group_alerts(engine, where, scope, by, ("count", True), rows=1_000)
        assert found.total == len(of_value)
        groups = {tuple(one.values.values()): shown(one) for one in found.groups}
        assert groups == {value: group_of(rows) for value, rows in of_value.items()}


def test_a_page_has_the_total_and_the_facets_of_the_whole_search(
    contract_engine: ClickHouseEngine,
) -> None:
    rows = stored_alerts(contract_engine, Random(12), 40)
    mine = Scope(frozenset({1, 2}))
    seen = [row for row in rows if _may_see(mine, row)]
    newest = Sort("created_time", is_descending=True)
    for facets in ((), ("status", "tags")):
        for start, count in ((0, 3), (2, 500), (0, 0), (900, 5)):
            asked = SearchRequest((), count, start, (newest,), facets=facets)
            settings = Settings(count_filtered_results=True)
            found = alert_search.search(contract_engine, mine, asked, settings, NOW_US)
            assert (found.total, found.filtered) == (len(seen), len(rows) - len(seen))
            assert found.facets == {name: counted(name, seen) for name in facets}
            ordered = sorted(seen, key=lambda row: (-row["created_time"], row["id"]))[
                start : start + count
            ]
            assert [row["id"] for row in found.rows] == [row["id"] for row in ordered]

"""Queries over sensors (docs/query-objects.md#sensors) as conditions of the state database, and
the sort keys of `sort.col` for every member of the sensor's record.

Values are bound. Queries are case-insensitive.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final, assert_never

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    and_,
    case,
    false,
    func,
    literal,
    not_,
    or_,
    select,
    true,
)

from vedette import limits
from vedette.errors import QueryError
from vedette.limits import Limit
from vedette.model.field import Field, catalogue
from vedette.query import Tree, parse
from vedette.query.check.glob import is_any, wild_runs
from vedette.query.check.number import bounds, truth
from vedette.query.check.time import time_bounds
from vedette.query.nodes import And, Everything, Exact, Leaf, Not, Or, Range, Text
from vedette.query.parse.escape import unescape
from vedette.state.db.schema import GROUP, SENSOR
from vedette.state.db.schema_console import ISOLATION

SENSOR_QUERY_TERMS_MAX: Limit[int] = 100
"""Terms of a query over sensors; databases limit the depth of a condition."""

SENSOR_QUERY_WILDCARDS_MAX: Limit[int] = 4
"""Runs of wildcards in a value of such a query; the database may try each at every character."""


SENSOR_FIELDS = catalogue(
    (
        Field("hostname", "hostname", ("hostname", "computer_name"), True, aliases=("host",)),
        Field("ip", "text", ("addresses", "interface_ip"), True, aliases=("interface_ip",)),
        Field("group", "keyword", ("group_name",)),
        Field("group_id", "integer", ("group_id",)),
        Field("sensor_id", "integer", ("id",), aliases=("id",)),
        Field("os_type", "keyword", ("os_type",), aliases=("os",)),
        Field("os_version", "keyword", ("os_version",)),
        Field("sensor_version", "keyword", ("sensor_version",), aliases=("version",)),
        Field("notes", "text", ("notes",)),
        Field("isolated", "bool", ("network_isolation_enabled",)),
        Field("last_seen", "time", ("last_seen_us",)),
        Field("registered", "time", ("first_seen_us",)),
    ),
    has_tags=False,
)
"""Fields of a query over sensors; their sources are columns of the state database."""

_ESCAPE: Final = "!"


def sensor_terms(text: str, now_us: int) -> ColumnElement[bool]:
    """Translates a query into a condition. Raises QueryError with the position in the text."""
    tree = parse(text, SENSOR_FIELDS)
    leaves = list(_leaves(tree))
    if len(leaves) > SENSOR_QUERY_TERMS_MAX:
        beyond = leaves[SENSOR_QUERY_TERMS_MAX]
        message = f"a query of sensors has at most {SENSOR_QUERY_TERMS_MAX} terms"
        raise QueryError(message, beyond.start, len(text))
    return _condition(tree, now_us)


def _leaves(tree: Tree) -> Iterator[Leaf]:
    match tree:
        case Everything():
            return
        case And(children) | Or(children):
            for child in children:
                yield from _leaves(child)
        case Not(child):
            yield from _leaves(child)
        case Leaf():
            yield tree
        case _:
            assert_never(tree)


def _condition(tree: Tree, now_us: int) -> ColumnElement[bool]:
    match tree:
        case Everything():
            return true()
        case And(children):
            return and_(*(_condition(child, now_us) for child in children))
        case Or(children):
            return or_(*(_condition(child, now_us) for child in children))
        case Not(child):
            return not_(_condition(child, now_us))
        case Leaf():
            return _leaf(tree, now_us)
        case _:
            assert_never(tree)


def _leaf(leaf: Leaf, now_us: int) -> ColumnElement[bool]:
    found = SENSOR_FIELDS.find(leaf.field) if leaf.field is not None else None
    try:
        if found is None and leaf.value == Text("*"):
            return true()
        if found is None:
            return or_(*(_text(one, leaf, part=True) for one in SENSOR_FIELDS.defaults))
        return _TYPES.get(found.type, _text)(found, leaf, now_us)
    except ValueError as error:
        raise QueryError(str(error), leaf.start, leaf.end) from None


def _integer(field: Field, leaf: Leaf, _now_us: int) -> ColumnElement[bool]:
    numbers = bounds(leaf.value)
    if numbers is None:
        return true()
    # BigInteger, since an open upper bound exceeds PostgreSQL's 32-bit column type.
    low, high = (literal(number, BigInteger()) for number in numbers)
    return SENSOR.c[field.sources[0]].between(low, high)


def _time(field: Field, leaf: Leaf, now_us: int) -> ColumnElement[bool]:
    return SENSOR.c[field.sources[0]].between(*time_bounds(leaf.value, now_us))


def _truth(field: Field, leaf: Leaf, _now_us: int) -> ColumnElement[bool]:
    found = truth(leaf.value)
    return true() if found is None else SENSOR.c[field.sources[0]].is_(found)


def _text(field: Field, leaf: Leaf, _now_us: int = 0, *, part: bool = False) -> ColumnElement[bool]:
    """Matches a text. With `part`, and for fields of type text, the value may occur anywhere;
    otherwise it must equal the whole value, or the first label of a host name."""
    match leaf.value:
        case Range():
            raise ValueError(f"{field.name} does not support ranges")
        case Text(source):
            text = unescape(source)
        case Exact(text):
            pass
    if len(wild_runs(text)) > SENSOR_QUERY_WILDCARDS_MAX:
        raise ValueError(f"a value has at most {SENSOR_QUERY_WILDCARDS_MAX} wildcards")
    if not text:
        return false()
    pattern = _pattern(text)
    if is_any(text):
        patterns = ["_%"]
    elif part or field.type == "text":
        patterns = [f"%{pattern}%"]
    elif field.type == "hostname":
        patterns = [pattern, f"{pattern}.%"]
    else:
        patterns = [pattern]
    if field.name == "group":
        named = or_(*(_like(GROUP.c.name, one) for one in patterns))
        return SENSOR.c.group_id.in_(select(GROUP.c.id).where(named))
    return or_(*(_like(SENSOR.c[name], one) for name in field.sources for one in patterns))


def _like(column: ColumnElement[Any], pattern: str) -> ColumnElement[bool]:
    """Matches case-insensitively. Non-ASCII text is also compared as written, since the database
    may not fold its case."""
    known = func.coalesce(column, "")
    folded = func.lower(known).like(pattern.lower(), escape=_ESCAPE)
    return folded if pattern.isascii() else folded | known.like(pattern, escape=_ESCAPE)


def _pattern(text: str) -> str:
    """Returns a LIKE pattern: escapes its wildcards, and translates `*` and `?`."""
    for one in (_ESCAPE, "%", "_"):
        text = text.replace(one, _ESCAPE + one)
    return text.replace("*", "%").replace("?", "_")


_TYPES: Final[dict[str, Callable[[Field, Leaf, int], ColumnElement[bool]]]] = {
    "integer": _integer,
    "time": _time,
    "bool": _truth,
}


_S = SENSOR.c

SORTS: dict[str, ColumnElement[Any]] = {
    "last_checkin_time": _S.last_seen_us,
    "last_update": _S.last_seen_us,
    "registration_time": _S.first_seen_us,
    "computer_name": _S.computer_name,
    "computer_dns_name": _S.hostname,
    "hostname": _S.hostname,
    "group_id": _S.group_id,
    "os_type": _S.os_type,
    "os_environment_id": _S.os_type,
    "os_environment_display_string": case((_S.os_version == "", _S.os_type), else_=_S.os_version),
    "network_adapters": case(
        (_S.network_adapters == "", _S.interface_ip), else_=_S.network_adapters
    ),
    "id": _S.id,
    "boot_id": _S.boot_id,
    "build_version_string": _S.sensor_version,
    "clock_delta": _S.clock_delta_s,
    "computer_sid": _S.computer_sid,
    "event_log_flush_time": _S.flush_us,
    "is_isolating": _S.is_isolating,
    **{
        f"isolation_{name}": select(ISOLATION.c[column])
        .where(ISOLATION.c.sensor_id == _S.id)
        .scalar_subquery()
        for name, column in (
            ("by", "username"),
            ("expires", "expires_us"),
            ("reason", "reason"),
            ("since", "since_us"),
        )
    },
    "missing_blocks": _S.missing_blocks,
    "network_isolation_enabled": _S.network_isolation_enabled,
    "next_checkin_time": case((_S.next_checkin_us == 0, _S.last_seen_us), else_=_S.next_checkin_us),
    "notes": _S.notes,
    "num_eventlog_bytes": _S.eventlog_bytes,
    "num_storefiles_bytes": _S.storefiles_bytes,
    "physical_memory_size": _S.memory_bytes,
    "power_state": _S.power_state,
    "reenrolled": _S.reenrolled,
    "reenrolment": case(
        (_S.reenrol_us == 0, ""), (_S.reenrol_approved_us > 0, "approved"), else_="pending"
    ),
    "restart_queued": _S.restart_queued,
    "sensor_health_message": _S.health_message,
    "sensor_health_status": _S.health_status,
    "sensor_uptime": _S.sensor_uptime_s,
    "sequence_gaps": _S.sequence_gaps,
    "status": literal(0),  # depends on the time: `sort_key`
    "supports_isolation": _S.key_sha256.is_not(None),
    "systemvolume_free_size": _S.volume_free_bytes,
    "systemvolume_total_size": _S.volume_total_bytes,
    "uninstall": _S.uninstall,
    "uninstalled": _S.uninstalled_us > 0,
    "uptime": _S.uptime_s,
    # Constant or nearly constant for all sensors; sorted by id instead.
    **dict.fromkeys(
        (
            "build_id",
            "cookie",
            "display",
            "emet_dump_flags",
            "emet_exploit_action",
            "emet_is_gpo",
            "emet_process_count",
            "emet_report_setting",
            "emet_telemetry_path",
            "emet_version",
            "license_expiration",
            "node_id",
            "parity_host_id",
            "shard_id",
            "shares_name",
            "supports_2nd_gen_modloads",
            "supports_cblr",
        ),
        _S.id,
    ),
}


def sort_key(name: str, now_us: int) -> ColumnElement[Any]:
    """Returns the ORDER BY expression for a key of `SORTS`."""
    return _status(now_us) if name == "status" else SORTS[name]


def _status(now_us: int) -> ColumnElement[str]:
    """Returns the status as the record shows it (`sensor_row.is_online` defines online)."""
    deadline_us = limits.SENSOR_CHECKINS_MISSED * (_S.next_checkin_us - _S.checkin_us)
    is_checking_in = and_(_S.enrolled_us > 0, _S.checkin_us > 0)
    return case(
        (_S.uninstalled_us > 0, "Uninstalled"),
        (_S.uninstall, "Uninstall Pending"),
        (and_(is_checking_in, now_us - _S.checkin_us < deadline_us), "Online"),
        (is_checking_in, "Offline"),
        (now_us - _S.last_seen_us < limits.SENSOR_ONLINE_US, "Online"),
        else_="Offline",
    )

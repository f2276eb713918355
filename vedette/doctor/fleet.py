"""Checks of the sensors, quotas and tokens in the state database, and of the database itself."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from vedette import limits
from vedette.doctor.finding import Finding
from vedette.limits import Limit
from vedette.settings import Settings
from vedette.state.accounts import tokens
from vedette.state.accounts.tokens import Token
from vedette.state.db.database import Database
from vedette.state.db.verify import verify_database
from vedette.state.policy import groups, name_owners
from vedette.state.sensors import quota
from vedette.state.sensors.silent_sensors import silent_sensors

DOCTOR_TOKEN_DAYS: Limit[int] = 14
"""Days before a token in use expires from which `vedette doctor` warns, so that there is time to
hand out another one."""

DOCTOR_SILENT_US: Limit[int] = 24 * 3600 * 1_000_000
"""Microseconds for which a sensor reports nothing before `vedette doctor` names it. Workstations
are switched off overnight."""

DOCTOR_NAMES_MAX: Limit[int] = 20
"""Sensors or tokens that one finding of `vedette doctor` names. All of them are counted."""

DOCTOR_QUOTA_PERCENT: Limit[int] = 80
"""Percentage of a quota from which `vedette doctor` warns, so that there is still time to act."""


_DAY_US: Final = 24 * 3600 * 1_000_000


def check_database(state: Database) -> Iterator[Finding]:
    """Whether the database file is undamaged."""
    problem = verify_database(state)
    if problem:
        yield Finding(
            "state",
            "error",
            f"the state database is damaged: {problem}",
            "restore state database and telemetry of the same backup",
        )
    else:
        yield Finding("state", "ok", "the state database is whole")


def check_sensors(state: Database, now_us: int) -> Iterator[Finding]:
    """Finds sensors that no longer report."""
    silent = silent_sensors(state, now_us - DOCTOR_SILENT_US, DOCTOR_NAMES_MAX)
    if not silent.count:
        yield Finding("sensors", "ok", f"{silent.of} sensors, none silent for a day")
        return
    names = ", ".join(f"{one.hostname} ({_day(one.last_seen_us)})" for one in silent.longest)
    more = ", ..." if silent.count > len(silent.longest) else ""
    text = f"{silent.count} of {silent.of} sensors are silent for a day: {names}{more}"
    yield Finding(
        "sensors",
        "warning",
        text,
        "look at the host, its sensor or shipper and its "
        "token; uninstall the sensor of a host that is gone",
    )


def check_names(state: Database) -> Iterator[Finding]:
    """Finds host names that several sensor groups claim."""
    found = name_owners.open_conflicts(state, most=DOCTOR_NAMES_MAX)
    if not found.total:
        yield Finding("names", "ok", "no host name is claimed by several sensor groups")
        return
    names = ", ".join(
        f"{one.name} ({', '.join(dict.fromkeys(claim.group_name for claim in one.claims))})"
        for one in found.shown
    )
    more = ", ..." if found.total > len(found.shown) else ""
    text = f"{found.total} host names are claimed by several sensor groups: {names}{more}"
    yield Finding(
        "names",
        "warning",
        text,
        "each group has a sensor of its own for the name; say "
        "whether it is one host with PUT /api/v1/hostconflict/NAME",
    )


def check_quotas(state: Database, settings: Settings) -> Iterator[Finding]:
    """Checks the limits of what senders may fill."""
    used = quota.usage(state)
    full = [
        ("sensors", used.sensors, limits.SENSORS_MAX, "records of further hosts are refused"),
        (
            "channel names",
            used.channels,
            limits.CHANNELS_MAX,
            "records of further channels are recognised by their request alone",
        ),
        (
            "bytes of copied programs",
            used.copied_bytes,
            settings.copied_files_bytes_max,
            "copies that were asked for least go for new ones; raise copied_files_bytes_max",
        ),
    ]
    names = {one.id: one.name for one in groups.all_groups(state)}
    full += [
        (
            f"sensors of group {names.get(group_id, group_id)}",
            count,
            limits.GROUP_SENSORS_MAX,
            "records of the group's further hosts are refused",
        )
        for group_id, count in groups.host_counts(state).items()
    ]
    found = [one for line in full for one in _quota(*line)]
    yield from found
    if not found:
        yield Finding(
            "quotas",
            "ok",
            f"{used.sensors} sensors, {used.channels} channel names, "
            f"{used.copied_bytes / 1_000_000_000:.1f} GB of copied programs",
        )


def _quota(what: str, used: int, most: int, effect: str) -> Iterator[Finding]:
    if not most or used * 100 < most * DOCTOR_QUOTA_PERCENT:
        return
    remedy = f"{effect}: find out who sends them, remove what is not needed"
    yield Finding(
        "quotas", "error" if used >= most else "warning", f"{used} of {most} {what}", remedy
    )


def check_tokens(state: Database, now_us: int) -> Iterator[Finding]:
    """Finds tokens in use that expire soon, after which their senders and programs are refused.
    Sessions and links of people expire within a day, and people then sign in again."""
    ahead_us = DOCTOR_TOKEN_DAYS * _DAY_US
    ending = [one for one in tokens.all_tokens(state) if _ends_soon(one, now_us, ahead_us)]
    for one in ending[:DOCTOR_NAMES_MAX]:
        text = f"the {one.kind} token {one.id} ({one.name or one.holder}) ends on "
        yield Finding(
            "tokens",
            "warning",
            text + _day(one.expires_us),
            "issue another with `vedette token issue` and hand it out",
        )
    if not ending:
        yield Finding("tokens", "ok", f"none in use ends within {DOCTOR_TOKEN_DAYS} days")


def _ends_soon(token: Token, now_us: int, ahead_us: int) -> bool:
    if token.kind not in ("api", "ingest"):
        return False
    is_used = token.last_used_us > now_us - ahead_us
    return is_used and token.is_good(now_us) and 0 < token.expires_us < now_us + ahead_us


def _day(time_us: int) -> str:
    return datetime.fromtimestamp(time_us / 1_000_000, UTC).strftime("%Y-%m-%d") if time_us else "-"

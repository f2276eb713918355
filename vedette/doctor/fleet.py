"""Checks of what the state database knows: sensors, quotas, tokens; and of the database itself."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from vedette import limits
from vedette.doctor.finding import Finding
from vedette.settings import Settings
from vedette.state.accounts import tokens
from vedette.state.accounts.tokens import Token
from vedette.state.db.database import Database
from vedette.state.db.verify import verify_database
from vedette.state.policy import groups
from vedette.state.sensors import quota
from vedette.state.sensors.silent_sensors import silent_sensors

_DAY_US: Final = 24 * 3600 * 1_000_000


def check_database(state: Database) -> Iterator[Finding]:
    """Whether the database's file is whole."""
    problem = verify_database(state)
    if problem:
        yield Finding("state", "error", f"the state database is damaged: {problem}",
                      "restore state database and telemetry of the same backup")  # fmt: skip
    else:
        yield Finding("state", "ok", "the state database is whole")


def check_sensors(state: Database, now_us: int) -> Iterator[Finding]:
    """Sensors that report nothing any more."""
    silent = silent_sensors(state, now_us - limits.DOCTOR_SILENT_US, limits.DOCTOR_NAMES_MAX)
    if not silent.count:
        yield Finding("sensors", "ok", f"{silent.of} sensors, none silent for a day")
        return
    names = ", ".join(f"{one.hostname} ({_day(one.last_seen_us)})" for one in silent.longest)
    more = ", ..." if silent.count > len(silent.longest) else ""
    text = f"{silent.count} of {silent.of} sensors are silent for a day: {names}{more}"
    yield Finding("sensors", "warning", text, "look at the host, its sensor or shipper and its "
                  "token; uninstall the sensor of a host that is gone")  # fmt: skip


def check_quotas(state: Database, settings: Settings) -> Iterator[Finding]:
    """Limits of what senders may fill."""
    used = quota.usage(state)
    full = [
        ("sensors", used.sensors, limits.SENSORS_MAX, "records of further hosts are refused"),
        ("channel names", used.channels, limits.CHANNELS_MAX,
         "records of further channels are recognised by their request alone"),
        ("bytes of copied programs", used.copied_bytes, settings.copied_files_bytes_max,
         "copies that were asked for least go for new ones; raise copied_files_bytes_max"),
    ]  # fmt: skip
    names = {one.id: one.name for one in groups.all_groups(state)}
    full += [
        (f"sensors of group {names.get(group_id, group_id)}", count, limits.GROUP_SENSORS_MAX,
         "records of the group's further hosts are refused")
        for group_id, count in groups.host_counts(state).items()
    ]  # fmt: skip
    found = [one for line in full for one in _quota(*line)]
    yield from found
    if not found:
        yield Finding("quotas", "ok", f"{used.sensors} sensors, {used.channels} channel names, "
                      f"{used.copied_bytes / 1_000_000_000:.1f} GB of copied programs")  # fmt: skip


def _quota(what: str, used: int, most: int, effect: str) -> Iterator[Finding]:
    if not most or used * 100 < most * limits.DOCTOR_QUOTA_PERCENT:
        return
    remedy = f"{effect}: find out who sends them, remove what is not needed"
    yield Finding(
        "quotas", "error" if used >= most else "warning", f"{used} of {most} {what}", remedy
    )


def check_tokens(state: Database, now_us: int) -> Iterator[Finding]:
    """Tokens in use that end soon: their senders and programs are then refused. Sessions and links
    of people end within a day, and they sign in again."""
    ahead_us = limits.DOCTOR_TOKEN_DAYS * _DAY_US
    ending = [one for one in tokens.all_tokens(state) if _ends_soon(one, now_us, ahead_us)]
    for one in ending[: limits.DOCTOR_NAMES_MAX]:
        text = f"the {one.kind} token {one.id} ({one.name or one.holder}) ends on "
        yield Finding("tokens", "warning", text + _day(one.expires_us),
                      "issue another with `vedette token issue` and hand it out")  # fmt: skip
    if not ending:
        yield Finding("tokens", "ok", f"none in use ends within {limits.DOCTOR_TOKEN_DAYS} days")


def _ends_soon(token: Token, now_us: int, ahead_us: int) -> bool:
    if token.kind not in ("api", "ingest"):
        return False
    is_used = token.last_used_us > now_us - ahead_us
    return is_used and token.is_good(now_us) and 0 < token.expires_us < now_us + ahead_us


def _day(time_us: int) -> str:
    return datetime.fromtimestamp(time_us / 1_000_000, UTC).strftime("%Y-%m-%d") if time_us else "-"

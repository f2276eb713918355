"""Versions of objects that an open page shows, and whether an object is settled.

A page receives the version with its content. `GET /api/v1/pulse?of=` returns the current version,
and the page reloads its parts when the two differ
(docs/console-development-updates.md#following-the-server). Both sides compute the version
with this module, from the same members.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import xxhash

from vedette.record.objects.ban import Ban
from vedette.record.objects.feed import Feed
from vedette.record.objects.ingress_filter import IngressFilter
from vedette.record.objects.watchlist import Watchlist
from vedette.respond.filters import Fetched
from vedette.state.devices.update_jobs import UpdateJob
from vedette.state.jobs.outbox import Target
from vedette.state.policy.sigma_rule import RuleState, SigmaRule
from vedette.state.sensors.sensor_row import SensorRow


@dataclass(frozen=True, slots=True)
class Followed:
    """Version of an object's state."""

    version: str
    is_settled: bool
    """Whether the object does not change further without user action."""


_Shown = tuple[Any, ...]


def followed(kind: str, *parts: Any) -> Followed:
    """Returns the version of an object. `parts` are the arguments of the kind's function in
    `FOLLOWED`."""
    shown, is_settled = FOLLOWED[kind](*parts)
    return Followed(xxhash.xxh64_hexdigest(repr(shown).encode()), is_settled)


def _sensor(row: SensorRow, status: str) -> tuple[_Shown, bool]:
    """`status` is the result of `status_of(row, now)`. Omits values that change with each check-in,
    except the backlog during a flush."""
    is_obeyed = row.network_isolation_enabled == row.is_isolating
    is_uninstalled = not row.uninstall or row.uninstalled_us > 0
    shown = (
        status,
        row.network_isolation_enabled,
        row.is_isolating,
        row.isolation_reason,
        row.isolation_by,
        row.isolation_expires_us,
        row.restart_queued,
        row.flush_us,
        row.uninstall,
        row.uninstalled_us,
        row.group_id,
        row.group_name,
        row.notes,
        row.sensor_version,
        row.health_status,
        row.health_message,
        row.has_sensor,
        row.reenrol_us,
        row.shares_name,
        row.eventlog_bytes if row.flush_us else 0,
    )
    return shown, is_obeyed and is_uninstalled and not row.restart_queued and not row.flush_us


def _job(job: UpdateJob) -> tuple[_Shown, bool]:
    return (job.status, sorted(job.states.items())), job.status != "IN_PROGRESS"


def _feed(feed: Feed) -> tuple[_Shown, bool]:
    shown = (
        feed.enabled,
        feed.display_name,
        feed.feed_url,
        feed.synced_us,
        feed.full_synced_us,
        feed.next_sync_us,
        feed.failures,
        feed.last_error,
        feed.errors,
        feed.sync_wanted,
    )
    return shown, not (feed.enabled and feed.sync_wanted)


def _watchlist(watchlist: Watchlist) -> tuple[_Shown, bool]:
    """Settled once the watchlist has processed telemetry older than itself. Omits hits, which
    include hosts outside the reader's scope."""
    shown = (
        watchlist.enabled,
        watchlist.name,
        watchlist.stopped,
        watchlist.last_error,
        watchlist.has_past,
    )
    return shown, not (watchlist.is_active and watchlist.has_past)


def _filter(one: IngressFilter, fetched: Fetched | None) -> tuple[_Shown, bool]:
    """Settled once each sensor has fetched the filter."""
    waiting = fetched.waiting if fetched else 0
    return (one.enabled, one.name, one.modify_us, one.expires_us, waiting), not waiting


def _ban(ban: Ban | None) -> tuple[_Shown, bool]:
    """Omits blocks, because hosts outside the reader's scope report them too."""
    return (() if ban is None else (ban.enabled, ban.text, ban.time_us, ban.expires_us)), True


def _rule(rule: SigmaRule, state: RuleState) -> tuple[_Shown, bool]:
    """Settled once the stored revision of the rule evaluates events."""
    shown = state, rule.enabled, rule.revision, rule.modified_us, rule.stopped_us
    return shown, state != "pending"


def _alert(row: Mapping[str, Any]) -> tuple[_Shown, bool]:
    return (row["status"], row["assigned_to"], row["history"]), True


def _file(order: Mapping[str, Any]) -> tuple[_Shown, bool]:
    """`order` is the order to upload a program, as `GET /api/v1/binary/{md5}/request` returns
    it."""
    is_settled = order["state"] not in ("waiting", "sent", "arriving")
    return (order["state"], order["copied_mod_len"]), is_settled


def _messages(targets: list[Target], dead: Mapping[str, int]) -> tuple[_Shown, bool]:
    shown = [(one.name, one.waiting, one.sent, one.refused, one.error) for one in targets]
    return (shown, sorted(dead.items())), not any(one.waiting for one in targets)


FOLLOWED: Final[Mapping[str, Callable[..., tuple[_Shown, bool]]]] = {
    "sensor": _sensor,
    "job": _job,
    "feed": _feed,
    "watchlist": _watchlist,
    "filter": _filter,
    "ban": _ban,
    "rule": _rule,
    "alert": _alert,
    "file": _file,
    "messages": _messages,
}
"""Maps each kind of object to a function that returns the values that pages show, and whether the
object is settled."""

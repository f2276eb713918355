"""All background jobs with their schedule: to add one, add a line to one of the tuples.

Jobs of the write path run in a server and in an import without a server; the others only in a
server. `leased` jobs run on one server of a cluster at a time; they are those that change what the
servers share. Names are also the names of leases.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from vedette.api.request_rates import FAILURES
from vedette.bootstrap.write_path import WritePath
from vedette.clock import Clock
from vedette.jobs.timer import TIMER, Job
from vedette.limits import (
    AUDIT_HEAD_S,
    BINARY_MERGE_ROUND_S,
    BINARY_RULE_ROUND_S,
    FAILED_WRITES_S,
    INDICATOR_ROUND_S,
    PARTITIONS_FOLLOWED_S,
    REQUEST_COUNTS_S,
    SHARDS_FOLLOWED_S,
    WATCHLIST_ROUND_S,
)
from vedette.notify.audit_head import send_audit_head
from vedette.respond.first_sightings import order_first_sightings
from vedette.settings import Settings
from vedette.state.accounts import kept_views
from vedette.state.devices import update_jobs
from vedette.state.files import binary_orders
from vedette.state.jobs import forwarded_hits
from vedette.state.jobs.streams import remove_dead
from vedette.state.policy import alert_undo
from vedette.state.policy.bans import end_expired as end_expired_bans
from vedette.state.policy.filters import end_expired as end_expired_filters
from vedette.state.policy.rules import forget_removed
from vedette.state.sensors import live_queries
from vedette.state.sensors.checkins import delete_old_health
from vedette.state.sensors.isolation import end_expired as end_expired_isolations
from vedette.state.servers import request_counts
from vedette.store.engine.client import Engine
from vedette.store.partitions.index_build import index_next_partition
from vedette.store.write.alert_retention import delete_alerts_before
from vedette.store.write.binary_merge import merge_known_files
from vedette.store.write.corrections import apply_corrections
from vedette.store.write.idle_merge import merge_alerts_when_idle, merge_when_idle

if TYPE_CHECKING:  # an import without a server takes half its start for the web framework
    from vedette.api.services import Services

_DAY_US: Final = 24 * 3600 * 1_000_000

Context = TypeVar("Context")


@dataclass(frozen=True, slots=True)
class BackgroundJob(Generic[Context]):
    """A job before it is bound to the parts of a server that it works on."""

    name: str
    every_s: float
    leased: bool
    what: str
    """What it does, for the log of a failure."""
    run: Callable[[Context], object]
    thread: str = TIMER
    """Jobs with the same name share a thread. Those that read telemetry for seconds have one of
    their own, so that the others stay on time; so have those whose statements run on all servers of
    a cluster, which takes minutes while one is away."""


@dataclass(frozen=True, slots=True)
class WritePathContext:
    """What jobs of the write path work on."""

    path: WritePath
    settings: Settings
    clock: Clock
    telemetry: Engine


def follow_shards(here: WritePathContext) -> None:
    """In a cluster."""
    if here.path.shards is not None:
        here.path.shards.reload()


WRITE_PATH_JOBS: Final[tuple[BackgroundJob[WritePathContext], ...]] = (
    BackgroundJob(
        "sensors", 5, False, "write last seen, address and type of sensors",
        lambda here: here.path.sensors.flush(here.clock.now_us()),
    ),
    BackgroundJob(
        "changes", 5, False, "reload sensors and groups that other servers changed",
        lambda here: here.path.sensors.refresh(here.clock.now_us()),
    ),
    BackgroundJob(
        "clock", 2, False, "compare the clocks, save the trusted time, apply a confirmation",
        lambda here: here.path.clock_watch.look(),
    ),
    BackgroundJob(
        "ingress filters", 2, False, "reload ingress filters that other servers changed",
        lambda here: here.path.filters.reload(),
    ),
    BackgroundJob(
        "privacy", 2, False, "reload what sensor groups hide",
        lambda here: here.path.privacy.reload(),
    ),
    BackgroundJob(
        "filter rates", 5, False, "write the hit counts of ingress filters",
        lambda here: here.path.filters.flush(),
    ),
    BackgroundJob(
        "detection rules", 2, False, "reload detection rules that other servers changed",
        lambda here: here.path.rules.reload(),
    ),
    BackgroundJob(
        "rule costs", 5, False, "write what detection rules cost and found",
        lambda here: here.path.rules.flush(),
    ),
    BackgroundJob(
        "partitions", 60, True, "roll and delete partitions as the settings say",
        lambda here: here.path.partitions.maintain(here.settings), "partitions",
    ),
    BackgroundJob(
        "partitions of others", PARTITIONS_FOLLOWED_S, False,
        "go along with partitions that other servers changed",
        lambda here: here.path.partitions.follow(),
    ),
    BackgroundJob(
        "shards", SHARDS_FOLLOWED_S, False, "go along with sensors that move to other shards",
        follow_shards, "shards",
    ),
    BackgroundJob(
        "suffix index", 600, True, "build the suffix index of data that no longer changes",
        lambda here: index_next_partition(here.telemetry), "merges",
    ),
    BackgroundJob(
        "failed writes", FAILED_WRITES_S, False,
        "load tables again after writes that the disk refused",
        lambda here: here.telemetry.recover_failed_writes(), "failed writes",
    ),
    BackgroundJob(
        "corrections", 3, True, "apply corrections of process metadata to stored segments",
        lambda here: apply_corrections(here.telemetry), "corrections",
    ),
    BackgroundJob(
        "idle merge", 5, True, "merge small parts while nothing is written",
        lambda here: merge_when_idle(here.telemetry), "merges",
    ),
    BackgroundJob(
        "alert merge", 30, True, "merge alerts and their versions while none is written",
        lambda here: merge_alerts_when_idle(here.telemetry), "merges",
    ),
)  # fmt: skip


def by_the_clock(run: Callable[["Services"], object]) -> Callable[["Services"], object]:
    """A job that ends or deletes what its time has come for: not while the clock is in doubt, since
    neither can be taken back."""

    def run_by_the_clock(here: "Services") -> object:
        return None if here.clock_guard.deletion_hold() else run(here)

    return run_by_the_clock


def delete_old_alerts(here: "Services") -> None:
    """Deletes alerts as the settings say."""
    days = here.settings.alert_retention_days
    if days:
        delete_alerts_before(here.engine, here.clock.now_us() - days * _DAY_US)


def share_request_counts(here: "Services") -> None:
    """In a cluster, where a limit of requests holds for all servers together."""
    if here.cluster is not None:
        unshared, own_id = here.rates.unshared(), here.cluster.membership.id
        totals = request_counts.exchange(here.database, own_id, unshared)
        here.rates.note_shared(unshared)
        here.rates.note_others(totals, lambda key: _rate_of(here, key), here.clock.now_us())


def _rate_of(here: "Services", key: str) -> int:
    """How many requests a minute a key of `RequestRates` may make."""
    if key.startswith(FAILURES):
        return here.settings.failures_per_minute
    return here.settings.requests_per_minute


def delete_old_requests(here: "Services") -> None:
    """What people asked for or may take back, once its time is over."""
    now_us = here.clock.now_us()
    for delete_old in OLD_REQUESTS:
        with here.database.writing() as connection:
            delete_old(connection, now_us)


OLD_REQUESTS: Final = (
    live_queries.delete_old,
    binary_orders.delete_old,
    delete_old_health,
    kept_views.delete_old_permalinks,
    alert_undo.delete_old,
)


def audit_head_to_syslog(here: "Services") -> None:
    """Where the settings name a syslog server."""
    if here.settings.syslog_host:
        send_audit_head(here.database, here.clock.now_us())


SERVER_JOBS: Final[tuple[BackgroundJob["Services"], ...]] = (
    BackgroundJob(
        # Not leased: the lease of a server that was killed would delay alerts by a minute.
        "rule hits", 1, False, "make alerts of what rules hit",
        lambda here: here.rule_hits.follow(), "alerts",
    ),
    BackgroundJob(
        "rule budget", 5, False, "stop detection rules that cost more than their budget",
        lambda here: here.rule_budget.check(), "alerts",
    ),
    BackgroundJob(
        "deleted rules", 3600, True, "forget detection rules that were deleted a day ago",
        by_the_clock(lambda here: forget_removed(here.database, here.clock.now_us())),
    ),
    BackgroundJob(
        "correlations", 300, True, "forget what correlation rules need no more",
        by_the_clock(lambda here: here.rule_hits.forget()), "alerts",
    ),
    BackgroundJob(
        "sensor keys", 5, False, "reload keys of sensors that other servers changed",
        lambda here: here.sensor_keys.refresh(here.clock.now_us()),
    ),
    BackgroundJob(
        "snapshots", 3600, False, "remove snapshots that a backup left behind",
        by_the_clock(lambda here: here.snapshots.remove_stale()),
    ),
    BackgroundJob(
        "approved addresses", 5, False, "reload the approved list that other servers changed",
        lambda here: here.approved_addresses.refresh(),
    ),
    BackgroundJob(
        "copies", 3600, False, "delete copies of files whose upload was given up a week ago",
        by_the_clock(lambda here: here.copies.delete_stale(here.clock.now_us())),
    ),
    BackgroundJob(
        "binary reading", 2, True, "read the copies of programs that wait for it",
        lambda here: here.binary_reading.run(), "binaries",
    ),
    BackgroundJob(
        "blob migration", 5, False, "move files of older places into the blob store",
        lambda here: here.blob_migration.move_some(), "blobs",
    ),
    BackgroundJob(
        "request counts", REQUEST_COUNTS_S, False, "share counts of requests with other servers",
        share_request_counts,
    ),
    BackgroundJob(
        "check-in interval", 60, False, "adapt the check-in interval to the number of sensors",
        lambda here: here.checkin_interval.refresh(),
    ),
    BackgroundJob(
        "tokens", 10, False, "write when tokens were last used",
        lambda here: here.tokens.flush(),
    ),
    BackgroundJob(
        # Not leased: callers wait for these jobs.
        "workflow jobs", 1, False, "change alerts as jobs of the cloud side say",
        lambda here: here.workflow_jobs.run(), "outbox",
    ),
    BackgroundJob(
        "update targets", 2, False, "reload which devices wait for an update",
        lambda here: here.update_targets.refresh(),
    ),
    BackgroundJob(
        "binary orders", 2, False, "reload which sensors are to send files",
        lambda here: here.ordering_sensors.refresh(here.clock.now_us()),
    ),
    BackgroundJob(
        "first sightings", BINARY_RULE_ROUND_S, True, "order programs as the rules of groups say",
        # Files that hang their reader must not hold it up until it has forgotten what was new.
        lambda here: order_first_sightings(here.engine, here.database, here.clock.now_us()),
        "first sightings",
    ),
    BackgroundJob(
        "binary merging", BINARY_MERGE_ROUND_S, True, "merge records of files by their hashes",
        lambda here: merge_known_files(here.engine), "first sightings",
    ),
    BackgroundJob(
        "update job ends", 30, True, "end sensor-update jobs whose time is over",
        by_the_clock(lambda here: update_jobs.expire(here.database, here.clock.now_us())),
    ),
    BackgroundJob(
        "old requests", 600, True, "delete old live queries, orders, health, links and undo",
        by_the_clock(delete_old_requests),
    ),
    BackgroundJob(
        "signing keys", 3600, True, "make the next key that access tokens are signed with",
        lambda here: here.access_tokens.rotate_when_due(),
    ),
    BackgroundJob(
        "feeds", 2, True, "synchronise the feeds that are due",
        lambda here: here.feeds.run_due(), "feeds",
    ),
    BackgroundJob(
        "alert retention", 3600, True, "delete alerts that nothing happened to for long",
        by_the_clock(delete_old_alerts), "alert retention",
    ),
    BackgroundJob(
        "indicators", INDICATOR_ROUND_S, True, "match indicators of feeds with telemetry",
        lambda here: here.indicators.run(), "indicators",
    ),
    BackgroundJob(
        "streams", 60, True, "delete event streams that expired long ago",
        by_the_clock(lambda here: remove_dead(
            here.database, here.settings.stream_ttl_s, here.clock.now_us()
        )),
    ),
    BackgroundJob(
        "outbox", 1, False, "begin to send to the targets that are due",
        lambda here: here.outbox.dispatch(), "outbox",
    ),
    BackgroundJob(
        "forwarders", 1, False, "begin to send what forwarders have to send",
        lambda here: here.forwarder_rounds.dispatch(), "outbox",
    ),
    BackgroundJob(
        "forwarded hits", 30, True, "delete hits that all forwarders have sent",
        lambda here: forwarded_hits.purge(here.database),
    ),
    BackgroundJob(
        "audit head", AUDIT_HEAD_S, True, "send the head of the audit log to syslog",
        audit_head_to_syslog, "outbox",
    ),
    BackgroundJob(
        "outbox metrics", 10, False, "count what waits",
        lambda here: here.outbox.watch(), "outbox",
    ),
    BackgroundJob(
        "outbox tombstones", 10, False, "delete old tombstones",
        by_the_clock(lambda here: here.outbox.purge()), "outbox",
    ),
    BackgroundJob(
        "responses", 1, True, "carry out responses by rule",
        lambda here: here.responder.carry_out(), "outbox",
    ),
    BackgroundJob(
        "isolation ends", 5, True, "release hosts whose isolation was to end now",
        by_the_clock(lambda here: end_expired_isolations(here.database, here.clock.now_us())),
    ),
    BackgroundJob(
        "ban ends", 5, True, "disable bans that were to end now",
        by_the_clock(lambda here: end_expired_bans(here.database, here.clock.now_us())),
    ),
    BackgroundJob(
        "filter ends", 5, True, "switch ingress filters off that were to end now",
        by_the_clock(lambda here: end_expired_filters(here.database, here.clock.now_us())),
    ),
    BackgroundJob(
        "response ends", 30, True, "undo responses by rule whose time has come",
        by_the_clock(lambda here: here.responder.end()), "outbox",
    ),
    BackgroundJob(
        "watchlists", WATCHLIST_ROUND_S, True, "ask watchlists of new telemetry",
        lambda here: here.watchlists.run(), "watchlists",
    ),
)  # fmt: skip

BACKGROUND_JOBS: Final[tuple[BackgroundJob[Any], ...]] = (*WRITE_PATH_JOBS, *SERVER_JOBS)
"""Every job of a server."""


def bind(jobs: Iterable[BackgroundJob[Context]], context: Context) -> list[Job]:
    """The jobs with the context they run on, for a `Timer`."""
    return [_bind(job, context) for job in jobs]


def _bind(job: BackgroundJob[Context], context: Context) -> Job:
    return Job(job.name, job.every_s, job.leased, job.what, lambda: job.run(context), job.thread)

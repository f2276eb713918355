"""All background jobs with their schedule. To add a job, add it to one of the tuples.

Jobs of the write path run in a server and in an import without a server; the others only in a
server. `leased` jobs change state that servers share, and run on one server of a cluster at a time.
A job's name is also the name of its lease.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from vedette.bootstrap.write_path import WritePath
from vedette.clock import Clock
from vedette.jobs.timer import TIMER, Job
from vedette.notify.audit_head import send_audit_head
from vedette.respond.first_sightings import order_first_sightings
from vedette.settings import Settings
from vedette.state.accounts import kept_views
from vedette.state.devices import update_jobs
from vedette.state.devices.update_failures import fail_waiting
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
from vedette.store.write.idle_merge import merge_alerts_when_idle, merge_when_idle
from vedette.web.http.request_rates import CHANGES, FAILURES, OWN_CHANGES

if TYPE_CHECKING:  # saves an import without a server half its start time
    from vedette.web.http.services import Services

from vedette.limits import Limit

BINARY_RULE_ROUND_S: Limit[int] = 5
"""Interval (s) of searches for programs that were seen for the first time."""

BINARY_MERGE_ROUND_S: Limit[int] = 60
"""Interval (s) of searches for files whose MD5 became known. A round with results rewrites the
parts that contain them."""

INDICATOR_ROUND_S: Limit[int] = 2
"""Interval (s) of matching indicators; hits are reported within seconds."""

AUDIT_HEAD_S: Limit[int] = 300
"""Interval (s) for sending the head of the audit log to syslog: entries since then could be
rewritten unnoticed."""

JOB_IDLE_S: Limit[float] = 60.0
"""Interval (s) of an idle job without changes of the state database or telemetry. A change that the
marker cannot detect is noticed after that time."""

JOB_IDLE_TIMED_S: Limit[float] = 10.0
"""Like `JOB_IDLE_S`, for jobs that also wait for a time, for example until a feed is due."""

JOB_IDLE_SENDING_S: Limit[float] = 2.0
"""Like `JOB_IDLE_S`, for jobs that send: a failed target is due again after
OUTBOX_BACKOFF_MIN_S."""

SHARDS_FOLLOWED_S: Limit[int] = 1
"""Interval (s) for reading moves of sensors between shards; their records wait that long."""

REQUEST_COUNTS_S: Limit[float] = 1.0
"""Interval (s) for exchanging request counts of tokens."""

PARTITIONS_FOLLOWED_S: Limit[int] = 2
"""Interval (s) for reading the partitions that servers of a cluster write to."""

FAILED_WRITES_S: Limit[int] = 2
"""Interval (s) for checking the embedded engine for merges whose writes the disk refused: well
before the engine removes the merged parts."""

WATCHLIST_ROUND_S: Limit[float] = 5.0
"""Interval (s) of watchlist rounds; a hit is reported after at most that time plus a round."""


_DAY_US: Final = 24 * 3600 * 1_000_000

Context = TypeVar("Context")


@dataclass(frozen=True, slots=True)
class BackgroundJob(Generic[Context]):
    """A job that is not yet bound to the parts of a server."""

    name: str
    every_s: float
    leased: bool
    what: str
    """Description for the log of a failure."""
    run: Callable[[Context], object]
    thread: str = TIMER
    """Jobs with the same name share a thread. Jobs that read telemetry for seconds have their own
    threads, so that others stay on time. So have jobs whose statements run on all servers of a
    cluster, which takes minutes while a server is down."""
    idle_s: float = 0.0
    """Like `Job.idle_s`; for jobs that depend only on the state database or telemetry."""


@dataclass(frozen=True, slots=True)
class WritePathContext:
    """The parts that jobs of the write path use."""

    path: WritePath
    settings: Settings
    clock: Clock
    telemetry: Engine


def follow_shards(here: WritePathContext) -> None:
    """Reloads the shard map, in a cluster."""
    if here.path.shards is not None:
        here.path.shards.reload()


WRITE_PATH_JOBS: Final[tuple[BackgroundJob[WritePathContext], ...]] = (
    BackgroundJob(
        "sensors",
        5,
        False,
        "write last seen, address and type of sensors",
        lambda here: here.path.sensors.flush(here.clock.now_us()),
    ),
    BackgroundJob(
        "changes",
        5,
        False,
        "reload sensors and groups that other servers changed",
        lambda here: here.path.sensors.refresh(here.clock.now_us()),
        idle_s=JOB_IDLE_S,
    ),
    BackgroundJob(
        "clock",
        2,
        False,
        "compare the clocks, save the trusted time, apply a confirmation",
        lambda here: here.path.clock_watch.look(),
    ),
    BackgroundJob(
        "ingress filters",
        2,
        False,
        "reload ingress filters that other servers changed",
        lambda here: here.path.filters.reload(),
        idle_s=JOB_IDLE_S,
    ),
    BackgroundJob(
        "privacy",
        2,
        False,
        "reload what sensor groups hide",
        lambda here: here.path.privacy.reload(),
        idle_s=JOB_IDLE_S,
    ),
    BackgroundJob(
        "filter rates",
        5,
        False,
        "write the hit counts of ingress filters",
        lambda here: here.path.filters.flush(),
    ),
    BackgroundJob(
        "detection rules",
        2,
        False,
        "reload detection rules that other servers changed",
        lambda here: here.path.rules.reload(),
        idle_s=JOB_IDLE_S,
    ),
    BackgroundJob(
        "rule costs",
        5,
        False,
        "write what detection rules cost and found",
        lambda here: here.path.rules.flush(),
    ),
    BackgroundJob(
        "partitions",
        60,
        True,
        "roll and delete partitions as the settings say",
        lambda here: here.path.partitions.maintain(here.settings),
        "partitions",
    ),
    BackgroundJob(
        "partitions of others",
        PARTITIONS_FOLLOWED_S,
        False,
        "go along with partitions that other servers changed",
        lambda here: here.path.partitions.follow(),
        idle_s=JOB_IDLE_S,
    ),
    BackgroundJob(
        "shards",
        SHARDS_FOLLOWED_S,
        False,
        "go along with sensors that move to other shards",
        follow_shards,
        "shards",
    ),
    BackgroundJob(
        "suffix index",
        600,
        True,
        "build the suffix index of data that no longer changes",
        lambda here: index_next_partition(here.telemetry),
        "merges",
    ),
    BackgroundJob(
        "failed writes",
        FAILED_WRITES_S,
        False,
        "load tables again after writes that the disk refused",
        lambda here: here.telemetry.recover_failed_writes(),
        "failed writes",
        idle_s=JOB_IDLE_TIMED_S,
    ),
    BackgroundJob(
        "idle merge",
        5,
        True,
        "merge small parts while nothing is written",
        lambda here: merge_when_idle(here.telemetry),
        "merges",
        idle_s=JOB_IDLE_TIMED_S,
    ),
    BackgroundJob(
        "alert merge",
        30,
        True,
        "merge alerts and their versions while none is written",
        lambda here: merge_alerts_when_idle(here.telemetry),
        "merges",
    ),
)


def by_the_clock(run: Callable[["Services"], object]) -> Callable[["Services"], object]:
    """Wraps a job that ends or deletes expired objects: it does not run while the clock is in
    doubt, since its effects are irreversible."""

    def run_by_the_clock(here: "Services") -> object:
        return None if here.clock_guard.deletion_hold() else run(here)

    return run_by_the_clock


def delete_old_alerts(here: "Services") -> None:
    """Deletes alerts according to the retention settings."""
    days = here.settings.alert_retention_days
    if days:
        delete_alerts_before(here.engine, here.clock.now_us() - days * _DAY_US)


def share_request_counts(here: "Services") -> None:
    """Shares request counts in a cluster, where rate limits apply to all servers together."""
    if here.cluster is not None:
        unshared, own_id = here.rates.unshared(), here.cluster.membership.id
        totals = request_counts.exchange(here.database, own_id, unshared)
        here.rates.note_shared(unshared)
        here.rates.note_others(totals, lambda key: _rate_of(here, key), here.clock.now_us())


def _rate_of(here: "Services", key: str) -> int:
    """Returns the requests per minute that a key of `RequestRates` may make."""
    if key.startswith(FAILURES):
        return here.settings.failures_per_minute
    for per_minute, start in (CHANGES, OWN_CHANGES):
        if key.startswith(start):
            return per_minute
    return here.settings.requests_per_minute


def delete_old_requests(here: "Services") -> None:
    """Deletes expired requests of users, and expired undo data."""
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
    """Sends the audit head to syslog, if the settings name a server."""
    if here.settings.syslog_host:
        send_audit_head(here.database, here.clock.now_us())


SERVER_JOBS: Final[tuple[BackgroundJob["Services"], ...]] = (
    BackgroundJob(
        # Not leased: the lease of a killed server would delay alerts by a minute.
        "rule hits",
        1,
        False,
        "make alerts of what rules hit",
        lambda here: here.rule_hits.follow(),
        "alerts",
    ),
    BackgroundJob(
        "rule budget",
        5,
        False,
        "stop detection rules that cost more than their budget",
        lambda here: here.rule_budget.check(),
        "alerts",
    ),
    BackgroundJob(
        "deleted rules",
        3600,
        True,
        "forget detection rules that were deleted a day ago",
        by_the_clock(lambda here: forget_removed(here.database, here.clock.now_us())),
    ),
    BackgroundJob(
        "correlations",
        300,
        True,
        "forget what correlation rules need no more",
        by_the_clock(lambda here: here.rule_hits.forget()),
        "alerts",
    ),
    BackgroundJob(
        "sensor keys",
        5,
        False,
        "reload keys of sensors that other servers changed",
        lambda here: here.sensor_keys.refresh(here.clock.now_us()),
        idle_s=JOB_IDLE_S,
    ),
    BackgroundJob(
        "snapshots",
        3600,
        False,
        "remove snapshots that a backup left behind",
        by_the_clock(lambda here: here.snapshots.remove_stale()),
    ),
    BackgroundJob(
        "approved addresses",
        5,
        False,
        "reload the approved list that other servers changed",
        lambda here: here.approved_addresses.refresh(),
        idle_s=JOB_IDLE_S,
    ),
    BackgroundJob(
        "copies",
        3600,
        False,
        "delete copies of files whose upload was given up a week ago",
        by_the_clock(lambda here: here.copies.delete_stale(here.clock.now_us())),
    ),
    BackgroundJob(
        "binary reading",
        2,
        True,
        "read the copies of programs that wait for it",
        lambda here: here.binary_reading.run(),
        "binaries",
        idle_s=JOB_IDLE_S,
    ),
    BackgroundJob(
        "blob migration",
        5,
        False,
        "move files of older places into the blob store",
        lambda here: here.blob_migration.move_some(),
        "blobs",
    ),
    BackgroundJob(
        "request counts",
        REQUEST_COUNTS_S,
        False,
        "share counts of requests with other servers",
        share_request_counts,
    ),
    BackgroundJob(
        "check-in interval",
        60,
        False,
        "adapt the check-in interval to the number of sensors",
        lambda here: here.checkin_interval.refresh(),
    ),
    BackgroundJob(
        "tokens",
        10,
        False,
        "write when tokens were last used",
        lambda here: here.tokens.flush(),
    ),
    BackgroundJob(
        # Not leased: callers wait for these jobs.
        "workflow jobs",
        1,
        False,
        "change alerts as jobs of the cloud side say",
        lambda here: here.workflow_jobs.run(),
        "outbox",
        idle_s=JOB_IDLE_S,
    ),
    BackgroundJob(
        "update targets",
        2,
        False,
        "reload which devices wait for an update",
        lambda here: here.update_targets.refresh(),
        idle_s=JOB_IDLE_S,
    ),
    BackgroundJob(
        "binary orders",
        2,
        False,
        "reload which sensors are to send files",
        lambda here: here.ordering_sensors.refresh(here.clock.now_us()),
        idle_s=JOB_IDLE_TIMED_S,
    ),
    BackgroundJob(
        "first sightings",
        BINARY_RULE_ROUND_S,
        True,
        "order programs as the rules of groups say",
        # In its own thread: files that hang the reader must not delay it beyond its lookback.
        lambda here: order_first_sightings(here.engine, here.database, here.clock.now_us()),
        "first sightings",
        idle_s=JOB_IDLE_S,
    ),
    BackgroundJob(
        "binary merging",
        BINARY_MERGE_ROUND_S,
        True,
        "merge records of files by their hashes",
        lambda here: merge_known_files(here.engine),
        "first sightings",
        idle_s=JOB_IDLE_S,
    ),
    BackgroundJob(
        "update job ends",
        30,
        True,
        "end sensor-update jobs whose time is over",
        by_the_clock(lambda here: update_jobs.expire(here.database, here.clock.now_us())),
    ),
    BackgroundJob(
        "update job devices",
        5,
        True,
        "fail the devices that wait in update jobs that have ended",
        lambda here: fail_waiting(here.database),
        idle_s=JOB_IDLE_S,
    ),
    BackgroundJob(
        "old requests",
        600,
        True,
        "delete old live queries, orders, health, links and undo",
        by_the_clock(delete_old_requests),
    ),
    BackgroundJob(
        "signing keys",
        3600,
        True,
        "make the next key that access tokens are signed with",
        lambda here: here.access_tokens.rotate_when_due(),
    ),
    BackgroundJob(
        "feeds",
        2,
        True,
        "synchronise the feeds that are due",
        lambda here: here.feeds.run_due(),
        "feeds",
        idle_s=JOB_IDLE_TIMED_S,
    ),
    BackgroundJob(
        "alert retention",
        3600,
        True,
        "delete alerts that nothing happened to for long",
        by_the_clock(delete_old_alerts),
        "alert retention",
    ),
    BackgroundJob(
        "indicators",
        INDICATOR_ROUND_S,
        True,
        "match indicators of feeds with telemetry",
        lambda here: here.indicators.run(),
        "indicators",
        idle_s=JOB_IDLE_TIMED_S,
    ),
    BackgroundJob(
        "streams",
        60,
        True,
        "delete event streams that expired long ago",
        by_the_clock(
            lambda here: remove_dead(here.database, here.settings.stream_ttl_s, here.clock.now_us())
        ),
    ),
    BackgroundJob(
        "outbox",
        1,
        False,
        "begin to send to the targets that are due",
        lambda here: here.outbox.dispatch(),
        "outbox",
        idle_s=JOB_IDLE_SENDING_S,
    ),
    BackgroundJob(
        "forwarders",
        1,
        False,
        "begin to send what forwarders have to send",
        lambda here: here.forwarder_rounds.dispatch(),
        "outbox",
        idle_s=JOB_IDLE_SENDING_S,
    ),
    BackgroundJob(
        "forwarded hits",
        30,
        True,
        "delete hits that all forwarders have sent",
        lambda here: forwarded_hits.purge(here.database),
    ),
    BackgroundJob(
        "audit head",
        AUDIT_HEAD_S,
        True,
        "send the head of the audit log to syslog",
        audit_head_to_syslog,
        "outbox",
    ),
    BackgroundJob(
        "outbox metrics",
        10,
        False,
        "count what waits",
        lambda here: here.outbox.watch(),
        "outbox",
    ),
    BackgroundJob(
        "outbox tombstones",
        10,
        False,
        "delete old tombstones",
        by_the_clock(lambda here: here.outbox.purge()),
        "outbox",
    ),
    BackgroundJob(
        "responses",
        1,
        True,
        "carry out responses by rule",
        lambda here: here.responder.carry_out(),
        "outbox",
        idle_s=JOB_IDLE_S,
    ),
    BackgroundJob(
        "isolation ends",
        5,
        True,
        "release hosts whose isolation was to end now",
        by_the_clock(lambda here: end_expired_isolations(here.database, here.clock.now_us())),
    ),
    BackgroundJob(
        "ban ends",
        5,
        True,
        "disable bans that were to end now",
        by_the_clock(lambda here: end_expired_bans(here.database, here.clock.now_us())),
    ),
    BackgroundJob(
        "filter ends",
        5,
        True,
        "switch ingress filters off that were to end now",
        by_the_clock(lambda here: end_expired_filters(here.database, here.clock.now_us())),
    ),
    BackgroundJob(
        "response ends",
        30,
        True,
        "undo responses by rule whose time has come",
        by_the_clock(lambda here: here.responder.end()),
        "outbox",
    ),
    BackgroundJob(
        "watchlists",
        WATCHLIST_ROUND_S,
        True,
        "ask watchlists of new telemetry",
        lambda here: here.watchlists.run(),
        "watchlists",
    ),
)

BACKGROUND_JOBS: Final[tuple[BackgroundJob[Any], ...]] = (*WRITE_PATH_JOBS, *SERVER_JOBS)
"""All jobs of a server."""


def bind(jobs: Iterable[BackgroundJob[Context]], context: Context) -> list[Job]:
    """Binds jobs to the context that they run on, for a `Timer`."""
    return [_bind(job, context) for job in jobs]


def _bind(job: BackgroundJob[Context], context: Context) -> Job:
    return Job(
        job.name,
        job.every_s,
        job.leased,
        job.what,
        lambda: job.run(context),
        job.thread,
        job.idle_s,
    )

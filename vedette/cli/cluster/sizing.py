"""`vedette cluster plan` and `simulate`: compute the size of a cluster without one."""

from typing import Annotated, Final

import typer

from vedette.cli.printing import print_table
from vedette.cluster.load_simulation import Load, Simulation, saturation
from vedette.cluster.sizing import Fleet, Plan, plan

_FLEET: Final = Fleet(endpoints=1, days=1)
"""Provides the default values."""

EndpointsOption = Annotated[
    int, typer.Option(min=1, max=10**9, help="Number of hosts that send telemetry.")
]
EventsOption = Annotated[
    int, typer.Option("--events", min=1, max=10**9, help="Average events per host and day.")
]


def plan_cluster(
    endpoints: EndpointsOption,
    days: Annotated[int, typer.Option(min=1, max=36_500, help="Retention (days).")] = 30,
    events: EventsOption = _FLEET.events_a_day,
    peak: Annotated[
        float, typer.Option(min=1, max=1_000, help="Peak load as a multiple of the mean.")
    ] = _FLEET.peak,
    searches: Annotated[
        float,
        typer.Option(min=0, max=10**6, help="Searches per second; 0: one per 50,000 endpoints."),
    ] = 0.0,
    replicas: Annotated[int, typer.Option(min=1, max=5, help="Replicas of each shard.")] = 3,
    commit_wait: Annotated[
        float, typer.Option(min=0.05, max=60, help="commit_wait_ms of the servers, in seconds.")
    ] = _FLEET.commit_wait_s,
) -> None:
    """Calculate the servers, shards and disk that a fleet needs. docs/scaling.md describes the
    model."""
    fleet = Fleet(endpoints, days, events, peak, searches, commit_wait, replicas=replicas)
    print_table(("", ""), _rows(plan(fleet)))


def simulate_cluster(
    events_per_second: Annotated[
        int, typer.Option(min=1, max=10**10, help="Initial load.")
    ] = 600_000,
    servers: Annotated[int, typer.Option(min=1, max=1_000, help="Vedette servers.")] = 20,
    shards: Annotated[int, typer.Option(min=1, max=1_000, help="Shards.")] = 100,
    failures: Annotated[
        int, typer.Option(min=0, max=1_000, help="Number of servers and replicas that fail.")
    ] = 6,
    commit_wait: Annotated[
        float, typer.Option(min=0.05, max=60, help="commit_wait_ms of the servers, in seconds.")
    ] = _FLEET.commit_wait_s,
    seed: Annotated[int, typer.Option(help="Seed of the random numbers.")] = 1,
) -> None:
    """Simulate a minute of a cluster with failures, then find the load it cannot keep up with."""
    load = Load(
        events_per_second,
        servers=servers,
        shards=shards,
        failures=failures,
        commit_wait_s=commit_wait,
        seed=seed,
    )
    found = Simulation(load).run()
    most, beyond = saturation(load)
    counts = found.counts
    rows = [
        ("offered", f"{counts.offered:,} events, {events_per_second:,} a second"),
        ("acknowledged", f"{counts.acknowledged:,}"),
        ("under way at the end", f"{counts.offered - counts.acknowledged:,}"),
        ("lost", f"{0 if counts.is_whole else 'counts differ'}"),
        ("delay", f"{found.delay_p50_s:.2f} s median, {found.delay_p99_s:.2f} s p99"),
        ("inserts", f"{found.inserts_a_shard_s:.0f} a second and shard"),
        ("kept up with", f"{most:,.0f} events/s"),
        ("then used", f"servers {beyond.server_share:.0%}, shards {beyond.shard_share:.0%}"),
    ]
    print_table(("", ""), rows)


def _rows(found: Plan) -> list[tuple[str, str]]:
    fleet = found.fleet
    return [
        ("endpoints", f"{fleet.endpoints:,}, {fleet.events_a_day:,} events a day each"),
        ("events", f"{found.events_s:,.0f}/s, {found.peak_events_s:,.0f}/s at the peak"),
        ("kept", f"{fleet.days} days: {_size(found.stored_bytes)} a copy"),
        ("one machine", f"{found.one_machine}: an embedded store on a few cores"),
        ("servers", f"{found.servers} with 16 cores, one of them to spare"),
        (
            "shards",
            f"{found.shards} of {found.replicas} replicas with 16 cores, for {found.bounded_by}",
        ),
        (
            "disk",
            f"{_size(found.replica_disk_bytes)} a replica, filled with "
            f"{_size(found.replica_bytes)}",
        ),
        ("inserts", f"{found.inserts_a_shard_s:.0f} a second and shard"),
        ("also", "PostgreSQL with a standby, 3 Keepers, a bucket, a balancer"),
    ]


def _size(byte_count: float) -> str:
    """Formats a size with two significant digits."""
    unit, name = (1e12, "TB") if byte_count >= 1e11 else (1e9, "GB")
    digits = 2 if byte_count < unit else 1 if byte_count < 10 * unit else 0
    return f"{byte_count / unit:,.{digits}f} {name}"

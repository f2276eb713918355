"""`vedette simulate`: the simulated fleet as a load generator."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.live import Live
from rich.text import Text

from vedette.cli.printing import print_json, print_table
from vedette.errors import UnavailableError
from vedette.limits import Limit
from vedette.simulate.bulk_client import Target
from vedette.simulate.load import SECONDS_DEFAULT, LoadCounters, LoadPlan, LoadResult, run_load

SIMULATE_REQUEST_EVENTS_MAX: Limit[int] = 4_000
"""Events per request of `vedette simulate`. A few such requests in flight replace the many small
requests of as many hosts."""


def simulate(
    to: Annotated[str, typer.Option("--to", metavar="URL", help="Server URL.")],
    token: Annotated[
        str, typer.Option(envvar="VEDETTE_INGEST_TOKEN", help="Ingest token of a sensor group.")
    ],
    endpoints: Annotated[int, typer.Option(min=1, help="Number of Windows hosts.")] = 200,
    rate: Annotated[
        float, typer.Option(min=0, help="Events per second; 0: as fast as possible.")
    ] = 1_000,
    seconds: Annotated[float, typer.Option(min=0.1, help="How long.")] = SECONDS_DEFAULT,
    events: Annotated[int, typer.Option(min=0, help="Maximum number of events; 0: unlimited.")] = 0,
    connections: Annotated[int, typer.Option(min=1, max=16, help="Requests in flight.")] = 4,
    ca: Annotated[Path | None, typer.Option(help="CA certificate.")] = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Skip certificate verification.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 1,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Send the simulated fleet's Sysmon events to a server at a steady rate, for a while.

    Never exceeds the rate. Events that a slow server cannot accept in time are not sent later.
    """
    plan = LoadPlan(
        endpoints=endpoints,
        events_per_s=rate,
        seconds=seconds,
        events_max=events,
        connections=min(connections, endpoints),
        events_per_request=_events_per_request(rate),
        seed=seed,
    )
    target = Target(to, token, ca, insecure)
    if json:
        result = run_load(plan, target)
        print_json(asdict(result))
    else:
        result = _watched(plan, target)
        print_table(("sent by the simulated fleet", ""), _rows(result))
    if result.errors:
        raise UnavailableError("; ".join(sorted(set(result.errors))))


def _events_per_request(rate: float) -> int:
    """Returns a request size for bodies of about 5 MB at full speed, and for several bodies per
    second at low rates."""
    return (
        SIMULATE_REQUEST_EVENTS_MAX
        if rate == 0
        else int(min(SIMULATE_REQUEST_EVENTS_MAX, max(10, rate / 8)))
    )


def _watched(plan: LoadPlan, target: Target) -> LoadResult:
    with Live(Text("recording the fleet ..."), transient=True) as live:

        def show(tally: LoadCounters, seconds: float) -> None:
            done = tally.stored + tally.known
            live.update(
                Text(
                    f"{seconds:5.1f} s  {done:>12,} events acknowledged"
                    f"  {done / max(seconds, 0.001):>9,.0f} a second"
                    f"  {tally.waits:,} backpressure responses"
                )
            )

        return run_load(plan, target, show)


def _rows(result: LoadResult) -> list[tuple[str, str]]:
    return [
        ("seconds", f"{result.seconds:.1f}"),
        ("events acknowledged", f"{result.acknowledged:,}"),
        ("of these duplicates or not stored", f"{result.known:,}"),
        ("events refused", f"{result.refused:,}"),
        ("acknowledged events per second", f"{result.events_per_s:,.0f}"),
        ("bytes an event", f"{result.bytes_per_event:,.0f}"),
        (
            "time to acknowledge, ms: p50, p95, max",
            f"{result.latency_p50_ms:.0f}, {result.latency_p95_ms:.0f},"
            f" {result.latency_max_ms:.0f}",
        ),
        ("backpressure responses", f"{result.waits:,}"),
        ("cores used by the sender", f"{result.sender_cpu_share:.2f}"),
    ]

"""`vedette demo`: runs a server and fills it with a day of a simulated company under attack.

The day ends now and is sent through `_bulk`; its first hours are generated while the server starts.
`demo.json` in the data directory is the checkpoint: an interrupted day is sent again (the server
deduplicates), a finished demo only starts the server.
"""

import json
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import httpx
import typer
import zstandard
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from vedette.bootstrap.local_access import LocalAccess
from vedette.cli.accounts.users import sign_in_address
from vedette.cli.demo_sensors import simulated_sensors
from vedette.cli.options import open_state
from vedette.cli.printing import print_table
from vedette.cli.server_process import ServerProcess, api_client
from vedette.clock import SystemClock
from vedette.errors import StartError, UnavailableError, VedetteError
from vedette.limits import Limit
from vedette.simulate.bulk_client import BulkConnection, Target
from vedette.simulate.day import Batch, iter_batches
from vedette.simulate.fleet import build_fleet
from vedette.simulate.stories import STORIES
from vedette.state.accounts import sign_in, users

DEMO_HOSTS_MIN: Limit[int] = 50
"""Hosts of the smallest demo fleet."""

DEMO_SENDERS: Limit[int] = 40
"""Concurrent requests of the demo: enough to fill a commit while another is prepared."""

DEMO_REFRESHES_A_SECOND: Limit[int] = 4
"""Updates of the progress bar per second. Each delays sending by a millisecond or more."""

DEMO_EARLY_BATCHES_MAX: Limit[int] = 200
"""Batches generated while the server starts. Compressed they take 25 MB."""

DEMO_ALERTS: Limit[int] = 8
"""Rules with alerts that the demo prints, as many as fit a screen."""

DEMO_ALERTS_POLL_S: Limit[float] = 1.5
"""Seconds between polls for alerts: longer than the delay of the jobs that create them."""

DEMO_ALERTS_WAIT_S: Limit[int] = 8
"""Seconds that the demo waits for alerts of the last events."""

DEMO_QUERIES: Limit[int] = 5
"""Queries that the demo prints and runs concurrently, as many as fit a screen."""

DEMO_POLL_S: Limit[float] = 0.2
"""Seconds between checks whether the demo's server is ready: short compared to a start of several
seconds."""

DEMO_STOP_POLL_S: Limit[float] = 0.5
"""Maximum wait (s) for room in the queue of batches before checking for a failed sender."""


FILE_NAME = "demo.json"
DIRECTORY = Path("demo-data")


_DAY_US = 24 * 3600 * 1_000_000
_ENDING = (signal.SIGINT, signal.SIGTERM)


@dataclass(frozen=True, slots=True)
class Demo:
    """Contents of `demo.json`: the parameters of the day, and whether it was sent."""

    seed: int
    hosts: int
    events: int
    start_us: int
    is_finished: bool = False


def demo(
    data: Annotated[Path, typer.Option(metavar="DIR", help="Data directory.")] = DIRECTORY,
    port: Annotated[int | None, typer.Option(help="Port; 0 lets the system choose.")] = None,
    hosts: Annotated[
        int | None,
        typer.Option(min=DEMO_HOSTS_MIN, help="Number of simulated hosts.", show_default="60"),
    ] = None,
    events: Annotated[
        int | None,
        typer.Option(min=1, help="Approximate number of events.", show_default="1000000"),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Random seed.", show_default="1")] = None,
    exit_when_ready: Annotated[
        bool, typer.Option("--exit-when-ready", help="Stop after sending all events.")
    ] = False,
) -> None:
    """Run a server with a simulated fleet: a day of 60 hosts with six attacks in it."""
    begin = time.monotonic()
    console = Console(highlight=False)
    typed = {"seed": seed, "hosts": hosts, "events": events}
    given = {name: value for name, value in typed.items() if value is not None}
    begins_us = time.time_ns() // 1_000 - _DAY_US
    wanted = Demo(
        given.get("seed", 1), given.get("hosts", 60), given.get("events", 1_000_000), begins_us
    )
    with _signals(_interrupt):
        server = ServerProcess(data, port)
        try:
            ready = _when_ready(server)
            plan = _begun(data) or wanted
            if ignored := [name for name in given if getattr(plan, name) != given[name]]:
                console.print(_ignored_text(data, plan, ignored), soft_wrap=True)
            if not plan.is_finished:
                _write(data, plan)
                _send_day(plan, ready, console)
                _write(data, replace(plan, is_finished=True))
            access = ready.result()
            if server.printed:
                console.print(server.printed, soft_wrap=True, markup=False, emoji=False)
            _introduce(access, console, time.monotonic() - begin)
            console.print(_sign_in_text(data, access), soft_wrap=True, highlight=False)
            if not exit_when_ready:
                with simulated_sensors(data, access):
                    _stay(server, console)
        except KeyboardInterrupt:
            console.print("\nstopping ...")
        finally:
            server.stop()


def _ignored_text(data: Path, plan: Demo, names: Sequence[str]) -> str:
    options = ", ".join(f"--{name}" for name in names)
    return (
        f"vedette: {options} ignored: {data} holds a demo of {plan.events:,} events on "
        f"{plan.hosts} hosts already, seed {plan.seed}. Set --data to another directory."
    )


def _when_ready(server: ServerProcess) -> Future[LocalAccess]:
    """Waits in the background. The result raises StartError if the server does not start."""
    waiting = ThreadPoolExecutor(1)
    ready = waiting.submit(server.wait_until_ready)
    waiting.shutdown(wait=False)
    return ready


def _stay(server: ServerProcess, console: Console) -> None:
    """Waits for Ctrl-C or SIGTERM. Raises StartError if the server ends by itself."""
    asked: list[int] = []
    with _signals(lambda number, _frame: asked.append(number)):
        console.print("\nCtrl-C stops the server.")
        while not asked:
            if not server.is_running:
                raise StartError(f"the server has stopped:\n{server.log_tail()}")
            time.sleep(DEMO_POLL_S)


@contextmanager
def _signals(handler: Callable[[int, Any], object]) -> Iterator[None]:
    """Installs a handler for SIGINT and SIGTERM, so that both stop the server, and restores the
    previous handlers at the end of the block."""
    before = {number: signal.signal(number, handler) for number in _ENDING}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


def _interrupt(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt


def _begun(data: Path) -> Demo | None:
    try:
        return Demo(**json.loads((data / FILE_NAME).read_text()))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError) as error:
        raise StartError(f"{data / FILE_NAME} cannot be read: {error}") from None


def _write(data: Path, plan: Demo) -> None:
    (data / FILE_NAME).write_text(json.dumps(asdict(plan)))


def _send_day(plan: Demo, ready: Future[LocalAccess], console: Console) -> None:
    """Sends the whole day. Raises StartError if the server does not start, UnavailableError if it
    stops accepting events or rejects some."""
    batches = iter_batches(build_fleet(plan.seed, plan.hosts), plan.start_us, events=plan.events)
    columns = (
        TextColumn("a day of {task.fields[hosts]} hosts"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.completed:,.0f} events"),
        TimeElapsedColumn(),
    )
    with Progress(
        *columns, console=console, refresh_per_second=DEMO_REFRESHES_A_SECOND
    ) as progress:
        task = progress.add_task("", total=plan.events, hosts=plan.hosts)
        early = _made_until(ready, batches)
        with _senders(ready.result(), lambda count: progress.advance(task, count)) as outbox:
            for batch in chain(early, batches):
                outbox.put(batch)


def _made_until(ready: Future[LocalAccess], batches: Iterator[Batch]) -> list[Batch]:
    """Returns batches generated until the server is ready, compressed to a twentieth to save
    memory. Later batches are not compressed, because compression costs as much as sending."""
    compressor = zstandard.ZstdCompressor(1)
    early: list[Batch] = []
    while (
        not ready.done() and len(early) < DEMO_EARLY_BATCHES_MAX and (batch := next(batches, None))
    ):
        early.append(replace(batch, body=compressor.compress(batch.body), encoding="zstd"))
    return early


class _Outbox:
    """Bounded queue between the generator and the senders."""

    def __init__(self) -> None:
        self._queue: queue.Queue[Batch | None] = queue.Queue(DEMO_SENDERS)
        self.error: VedetteError | None = None

    def put(self, batch: Batch | None) -> None:
        """Enqueues a batch and waits while the queue is full. Raises the error of a failed
        sender."""
        while True:
            if self.error is not None:
                raise self.error
            try:
                return self._queue.put(batch, timeout=DEMO_STOP_POLL_S)
            except queue.Full:
                continue

    def take(self) -> Batch | None:
        return self._queue.get()


@contextmanager
def _senders(access: LocalAccess, sent: Callable[[int], None]) -> Iterator[_Outbox]:
    """Yields the queue of sender threads. All batches are acknowledged when the block ends."""
    outbox = _Outbox()
    certificate = Path(access.certificate) if access.certificate else None
    target = Target(access.url, access.ingest_token, certificate)

    def work() -> None:
        try:
            with closing(BulkConnection(target)) as connection:
                while (batch := outbox.take()) is not None:
                    delivery = connection.deliver(batch.body, batch.encoding)
                    if delivery.refused:
                        raise UnavailableError(f"the server rejected {delivery.refused:,} events")
                    sent(batch.events)
        except VedetteError as error:
            outbox.error = error

    threads = [threading.Thread(target=work, daemon=True) for _ in range(DEMO_SENDERS)]
    for thread in threads:
        thread.start()
    yield outbox
    for _ in threads:
        outbox.put(None)
    for thread in threads:
        thread.join()
    if outbox.error is not None:
        raise outbox.error


def _introduce(access: LocalAccess, console: Console, seconds: float) -> None:
    """Prints the address, the token, and queries that find the attacks."""
    stories = STORIES[:DEMO_QUERIES]
    with api_client(access) as client, ThreadPoolExecutor(DEMO_QUERIES) as pool:
        found = pool.map(lambda story: _found(client, story.query), stories)
        rows = [
            (story.query, count, story.title) for story, count in zip(stories, found, strict=True)
        ]
        alerts = _alerts(client)
    console.print(f"\nReady after {seconds:.0f} s.\n")
    console.print(f"  console      {access.url}/ui/", soft_wrap=True)
    console.print(f"  address      {access.url}", soft_wrap=True)
    console.print(f"  API token    {access.token}   (valid while this server runs)", soft_wrap=True)
    console.print("\nSearch with GET /api/v1/process?q=..., header X-Auth-Token. Examples:\n")
    print_table(("q", "processes", "finds"), rows)
    first = httpx.QueryParams({"q": STORIES[0].query, "rows": 3})
    curl = f"curl -sk -H 'X-Auth-Token: {access.token}'"
    console.print(f"\n  {curl} '{access.url}/api/v1/process?{first}'", soft_wrap=True)
    if alerts:
        console.print("\nThe starter pack of rules has made alerts of it (GET /api/v2/alert):\n")
        print_table(("alerts", "hosts", "severity", "rule"), alerts)
        console.print(f"\n  {curl} '{access.url}/api/v2/alert?rows=3'", soft_wrap=True)


def _sign_in_text(data: Path, access: LocalAccess) -> str:
    """Returns a sign-in link for the first administrator; "" without one."""
    with open_state(data, None) as database:
        admins = (one for one in users.all_users(database) if one.is_global_admin)
        first = next((one.username for one in admins if one.is_enabled), None)
        if first is None:
            return ""
        secret = sign_in.issue_link(database, first, SystemClock().now_us())
    address = sign_in_address(access.url, secret)
    return f"\nSee the alerts in a browser; this link signs {first} in once:\n\n  {address}"


def _alerts(client: httpx.Client) -> list[tuple[str, ...]]:
    """Returns the rules with the most severe alerts. Events become alerts shortly after they are
    acknowledged, so this waits a few seconds until no new alerts appear."""
    total, found, until_s = -1, [], time.monotonic() + DEMO_ALERTS_WAIT_S
    while time.monotonic() < until_s:
        answer = client.get(
            "/api/v2/alert/group", params={"rows": DEMO_ALERTS, "sort": "severity desc"}
        )
        if answer.status_code != httpx.codes.OK:
            return []
        body = answer.json()
        found, before, total = body["results"], total, body["total_results"]
        if total == before:
            break
        time.sleep(DEMO_ALERTS_POLL_S)
    return [
        (
            f"{group['count']:,}",
            f"{group['hosts']:,}",
            f"{group['alert_severity']:.0f}",
            group["title"],
        )
        for group in found
    ]


def _found(client: httpx.Client, query: str) -> str:
    answer = client.get("/api/v1/process", params={"q": query, "rows": 0})
    return f"{answer.json()['total_results']:,}" if answer.status_code == 200 else "?"

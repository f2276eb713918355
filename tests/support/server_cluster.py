"""Several real servers on one PostgreSQL and one ClickHouse front."""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.support import served
from tests.support.clickhouse_front import Front, clickhouse_front
from tests.support.dropping_proxy import DroppingProxy, dropping_proxy
from tests.support.forked import Forked
from tests.support.ports import free_port
from tests.support.postgres_server import Postgres, postgres_server
from tests.support.served import STOP_S, Server, listening
from vedette.clock import SystemClock
from vedette.state.accounts import tokens
from vedette.state.db.database import Database, open_database
from vedette.state.db.sealing import KEY_FILE
from vedette.state.policy import groups
from vedette.state.servers import server_list, slots

LEASE_S = 3


@dataclass
class Member:
    """One of the servers: a data directory, and the process that runs on it."""

    data: Path
    port: int
    flags: tuple[str, ...] = ()
    links: dict[str, DroppingProxy] = field(default_factory=dict)
    """To `postgres`, to the `store`, and from its `peers`."""
    process: Forked | None = None
    server: Server | None = None

    def signal(self, number: int) -> None:
        """To the server itself; its workers wait for it."""
        assert self.process is not None
        os.kill(self.process.pid, number)

    def launch(self) -> None:
        self.process = served.forked(self.data, *self.flags)

    def wait(self) -> Server:
        """Until it listens."""
        assert self.process is not None
        self.server = listening(self.data, self.process)
        return self.server

    def start(self) -> Server:
        self.launch()
        return self.wait()

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def stop(self) -> None:
        """Stops the server with SIGTERM, like a service manager; it stores accepted records
        first."""
        assert self.process is not None
        self.process.terminate()
        self.process.wait(STOP_S)
        self.process = None

    @property
    def log(self) -> str:
        return (self.data / "server.log").read_text()

    def report_errors(self) -> None:
        """Prints the bugs that the server met, for whoever reads why a test failed."""
        for line in self.log.splitlines() if (self.data / "server.log").exists() else ():
            if "Traceback" in line:
                print(f"{self.data.name}: {line}")


@dataclass
class ServerCluster:
    """Its servers, and what they share."""

    postgres: Postgres
    front: Front
    members: list[Member]
    state: Database = field(repr=False)

    def start(self) -> list[Server]:
        """All of them: the first alone, since it makes the first tokens."""
        first = self.members[0].start()
        for member in self.members[1:]:
            shutil.copy(self.members[0].data / KEY_FILE, member.data / KEY_FILE)
            member.launch()
        return [first, *(member.wait() for member in self.members[1:])]

    def is_shared_out(self) -> bool:
        """Whether every slot belongs to a server that runs."""
        running = {one.id for one in server_list.running(self.state)}
        held = [one.server_id for one in slots.all_slots(self.state)]
        return len(running) == len(self.members) and running == set(held)

    def ingest_token(self) -> str:
        """Issues an ingest token of a new group. Both outlive the servers."""
        group = groups.add(self.state, "Faults")
        new = tokens.NewToken("ingest", "faults", group_id=group.id)
        return tokens.issue(self.state, new, SystemClock().now_us()).secret


@contextmanager
def server_cluster(
    folder: Path, count: int, *settings: str, front_flags: Sequence[str] = ()
) -> Iterator[ServerCluster]:
    """The engines run, the servers do not yet. All end with the block. Each server reaches the
    engines, and is reached by the others, through proxies of its own."""
    with ExitStack() as closing:
        postgres = closing.enter_context(postgres_server(on_loopback=True))
        front = closing.enter_context(clickhouse_front(folder / "clickhouse", *front_flags))
        members = []
        for number in range(count):
            data = folder / f"server-{number}"
            data.mkdir()
            member = Member(data, free_port())
            for name, port in (
                ("postgres", postgres.port),
                ("store", front.port),
                ("peers", member.port),
            ):
                member.links[name] = closing.enter_context(dropping_proxy(port))
            own = {
                "state_dsn": f"postgresql://postgres@127.0.0.1:{member.links['postgres'].port}/postgres",
                "clickhouse_dsn": front.dsn.replace(
                    str(front.port), str(member.links["store"].port)
                ),
                "server_url": f"https://127.0.0.1:{member.links['peers'].port}",
                "server_lease_s": str(LEASE_S),
                "preparing_processes": "1",
            }
            words = [f"{name}={value}" for name, value in own.items()] + list(settings)
            member.flags = (
                "--port",
                str(member.port),
                *(word for one in words for word in ("--set", one)),
            )
            members.append(member)
        state = open_database(postgres.dsn, folder)
        closing.callback(state.close)
        for member in members:
            closing.callback(member.report_errors)
            closing.callback(member.kill)
        yield ServerCluster(postgres, front, members, state)

"""This server's membership among the others: its lease, and the slots of hosts that it owns.

Two threads. `heartbeat` renews the lease, ends servers whose lease has expired, and reads the list
of servers and slots; it never waits for the write path. `sharing` takes and releases slots between
two commits, and registers again under another id after the lease was lost.

A slot is taken in this order: the state database assigns it to this server, the newest rules are
loaded, the state of its hosts is dropped and read back from the store, its records are accepted. It
is released in the opposite order. So while a server stores records of a slot, no other server does,
and no record is evaluated by rules older than those recorded as active.
"""

import secrets
import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import structlog

from vedette import limits
from vedette.errors import UnavailableError, VedetteError
from vedette.limits import Limit
from vedette.servers.shares import change_for
from vedette.state.db.database import Database
from vedette.state.servers import server_list, slots
from vedette.state.servers.commit_numbers import LeaseLostError
from vedette.state.servers.server_list import Introduction, RunningServer

SERVER_BEATS_A_LEASE: Limit[int] = 5
"""Renewals per lease duration, so that some may fail."""

SERVER_SHARING_S: Limit[float] = 0.5
"""Interval between two checks for slots to release or take."""


log = structlog.get_logger(__name__)

_SECOND_US = 1_000_000


class SlotHolder(Protocol):
    """Prepares commits (`WorkerPool`). Methods are called between two commits."""

    def take_slots(self, taken: Collection[int]) -> None:
        """Drops the state of the hosts of these slots, reads it back from the store, and accepts
        their records. Raises UnavailableError; then it accepts none of them."""

    def drop_slots(self, dropped: Collection[int]) -> None:
        """Stops accepting records of these slots."""


class Intervals(Protocol):
    """Runs functions between commits (`IngestQueue`)."""

    def between_commits(self, order: Callable[[], None]) -> None: ...


@dataclass(frozen=True, slots=True)
class View:
    """The last content read from the state database."""

    servers: Mapping[str, RunningServer]
    holders: Mapping[int, str]
    """Maps slot to the id of its server; "" for none."""


class Membership:
    """Membership of this server (see the module docstring). Thread-safe."""

    def __init__(
        self,
        database: Database,
        introduction: Introduction,
        certificate: Callable[[], str],
        lease_s: float,
        settle_s: float = 0.0,
    ) -> None:
        """`introduction` has no id; `certificate` returns the current certificate, PEM. After
        `settle_s` seconds all replicas used for reads have an insert."""
        self._database = database
        self._introduction = introduction
        self._certificate = certificate
        self._lease_s = lease_s
        self._settle_s = settle_s
        self._id = ""
        self._until_us = 0
        self._until_s = 0.0
        """End of the lease on this process's monotonic clock."""
        self._lock = threading.Lock()
        self._view = View({}, {})
        self._taken: set[int] = set()
        """Slots whose records are accepted."""
        self._given_s: dict[int, float] = {}
        """Maps each assigned slot that is not taken yet to the time of its assignment."""
        self._stopping = threading.Event()
        self._beating = threading.Thread(target=self._beat_loop, name="heartbeat", daemon=True)
        self._sharing = threading.Thread(target=self._sharing_loop, name="sharing", daemon=True)
        self._holder: SlotHolder | None = None
        self._intervals: Intervals | None = None
        self._load_rules: Callable[[], None] = lambda: None

    @property
    def id(self) -> str:
        return self._id

    @property
    def view(self) -> View:
        return self._view

    def begin(self) -> None:
        """Registers this server with the others, and begins to renew the lease, because a start may
        take longer than the lease. Call it before anything is stored."""
        slots.ensure_slots(self._database)
        self._register()
        self._look()
        self._beating.start()

    def start(
        self, holder: SlotHolder, intervals: Intervals, load_rules: Callable[[], None]
    ) -> None:
        """Begins to take slots. `load_rules` loads the rules if any changed, and records that this
        server uses them; it may take seconds."""
        self._holder, self._intervals, self._load_rules = holder, intervals, load_rules
        self._sharing.start()

    def close(self) -> None:
        """Leaves the other servers. Call it when nothing more will be stored."""
        self._stopping.set()
        for thread in (self._beating, self._sharing):
            if thread.ident is not None:
                thread.join()
        if self._id:
            try:
                server_list.leave(self._database, self._id)
            except VedetteError as error:
                log.warning(
                    "cannot release the lease; other servers take over when it expires",
                    reason=str(error),
                )

    def fence_us(self) -> int:
        """Returns the end of the lease by the database's clock: until then, no other server can
        store this server's records. Raises LeaseLostError after it."""
        with self._lock:
            if not self._id or time.monotonic() >= self._until_s:
                raise LeaseLostError("the lease of this server has expired")
            return self._until_us

    def uncertain_until_s(self) -> float:
        """Returns the time (monotonic clock) after which inserts in flight can no longer take
        effect."""
        with self._lock:
            return self._until_s + limits.SERVER_GRACE_S

    def current_id(self) -> str:
        """Returns the id for a new commit. Raises LeaseLostError without one."""
        self.fence_us()
        return self._id

    def owner(self, slot: int) -> RunningServer | None:
        """Returns the server that owns a slot; None while no server does."""
        view = self._view
        return view.servers.get(view.holders.get(slot, ""))

    def _register(self) -> None:
        new_id = f"{self._database.name}.{secrets.token_hex(4)}"
        began_s = time.monotonic()
        one = replace(self._introduction, id=new_id, certificate=self._certificate())
        until_us = server_list.register(self._database, one, self._lease_s)
        with self._lock:
            self._id, self._until_us, self._until_s = new_id, until_us, began_s + self._lease_s
        log.info("among the servers", server=new_id, url=one.url)

    def _beat_loop(self) -> None:
        while not self._stopping.wait(self._lease_s / SERVER_BEATS_A_LEASE):
            try:
                self._beat()
            except VedetteError as error:
                log.warning("lease renewal failed", reason=str(error))
            except Exception:
                log.exception("the heartbeat failed")

    def _beat(self) -> None:
        own_id, began_s = self._id, time.monotonic()
        if own_id:
            until_us = server_list.renew(self._database, own_id, self._certificate(), self._lease_s)
            with self._lock:
                if until_us is None and self._id == own_id:
                    self._id = ""
                    log.error("removed by other servers; rejoining", server=own_id)
                elif until_us is not None:
                    self._until_us, self._until_s = until_us, began_s + self._lease_s
        ended = server_list.end_expired(self._database)
        if ended:
            log.warning("servers were ended", servers=ended)
        self._look()

    def _look(self) -> None:
        servers = {one.id: one for one in server_list.running(self._database)}
        holders = {one.slot: one.server_id for one in slots.all_slots(self._database)}
        self._view = View(servers, holders)

    def _sharing_loop(self) -> None:
        while not self._stopping.wait(SERVER_SHARING_S):
            try:
                self._share()
            except UnavailableError as error:
                log.warning("host slots unchanged", reason=str(error))
            except Exception:
                log.exception("assigning host slots failed")

    def _share(self) -> None:
        assert self._intervals is not None
        if not self._id:
            self._intervals.between_commits(self._begin_anew)
        own_id = self._id
        rows = slots.all_slots(self._database)
        running = {one.id for one in server_list.running(self._database)}
        if own_id not in running:
            return  # the heartbeat handles that case
        held = {one.slot for one in rows if one.server_id == own_id}
        if ripe := self._ripe(held - self._taken):
            self._load_rules()
            self._intervals.between_commits(lambda: self._take(ripe))
        change = change_for(own_id, running, rows)
        if change.release:
            self._intervals.between_commits(lambda: self._release(change.release))
        elif change.claim and slots.claim(self._database, own_id, change.claim):
            self._share()

    def _ripe(self, given: Collection[int]) -> set[int]:
        """Returns the slots whose hosts can be read back: all replicas have the previous server's
        rows."""
        now_s = time.monotonic()
        self._given_s = {slot: self._given_s.get(slot, now_s) for slot in given}
        return {slot for slot, at_s in self._given_s.items() if now_s - at_s >= self._settle_s}

    def _begin_anew(self) -> None:
        """Registers again, between two commits: all open commits have failed or are stored."""
        assert self._holder is not None
        self._holder.drop_slots(self._taken)
        self._taken = set()
        self._register()

    def _take(self, some: Collection[int]) -> None:
        assert self._holder is not None
        self.fence_us()
        began_s = time.monotonic()
        self._holder.take_slots(some)
        self._taken |= set(some)
        took_s = round(time.monotonic() - began_s, 3)
        log.info("slots of hosts taken", count=len(some), of=len(self._taken), seconds=took_s)

    def _release(self, some: Collection[int]) -> None:
        assert self._holder is not None
        self._holder.drop_slots(some)
        self._taken -= set(some)
        slots.release(self._database, self._id, some)
        log.info("slots of hosts released", count=len(some), left=len(self._taken))

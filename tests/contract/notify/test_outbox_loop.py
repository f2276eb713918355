"""The loop over real receivers: order, outages, hanging receivers, kills in the middle."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from tests.support.ports import free_port
from tests.support.receivers import (
    HttpReceiver,
    hanging_server,
    http_receiver,
    mail_server,
)
from tests.support.started_state import open_started_state
from vedette.clock import DrivenClock
from vedette.model.findings.action import ActionType
from vedette.model.findings.detection import Source
from vedette.notify import mail
from vedette.notify.notice import Notice, encode
from vedette.notify.outbox_loop import (
    OUTBOX_BACKOFF_MAX_S,
    OUTBOX_GIVE_UP_US,
    OutboxLoop,
    backoff_s,
)
from vedette.notify.outbox_metrics import OutboxMetrics
from vedette.notify.senders import SenderContext, all_senders
from vedette.notify.targets import mail_target
from vedette.notify.webhook import Receiver
from vedette.notify.webhook_receivers import sealed
from vedette.settings import Settings
from vedette.state.accounts import users
from vedette.state.db.database import Database
from vedette.state.db.sealing import Sealing, open_sealing
from vedette.state.jobs import outbox
from vedette.state.jobs.outbox import MessageState, NewMessage
from vedette.state.policy import actions
from vedette.state.policy.actions import NewAction

NOW_US = 1_700_000_000_000_000
TIMEOUT_S = 15.0


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = open_started_state(tmp_path, NOW_US)
    users.change(opened, "admin", users.UserChanges(email="admin@corp.example"))
    yield opened
    opened.close()


@pytest.fixture
def sealing(tmp_path: Path) -> Sealing:
    return open_sealing(tmp_path)


class Loop:
    """A loop over a clock that the test moves, dispatched until something is so."""

    def __init__(self, database: Database, sealing: Sealing, settings: Settings) -> None:
        self.clock = DrivenClock(NOW_US)
        self.registry = CollectorRegistry()
        senders = all_senders(SenderContext(settings, self.clock, database, sealing))
        metrics = OutboxMetrics(self.registry, list(senders))
        self.loop = OutboxLoop(database, self.clock, senders, metrics)

    def until(self, holds: Callable[[], bool], advance_s: float = 0.0) -> bool:
        deadline = time.monotonic() + TIMEOUT_S
        while not holds() and time.monotonic() < deadline:
            self.loop.dispatch()
            time.sleep(0.02)
            self.clock.advance(advance_s)
        return holds()


@pytest.fixture
def make_loop(database: Database, sealing: Sealing) -> Iterator[Callable[[Settings], Loop]]:
    made: list[Loop] = []

    def make(settings: Settings) -> Loop:
        made.append(Loop(database, sealing, settings))
        return made[-1]

    yield make
    for one in made:
        one.loop.close()


def here(tmp_path: Path, **more: object) -> Settings:
    return Settings(data=tmp_path, egress_allow=("127.0.0.1", "::1"), **more)  # type: ignore[arg-type]


def webhook(database: Database, sealing: Sealing, url: str, user_id: int = 0) -> int:
    with database.writing() as connection:
        new = NewAction(
            Source("rule", "r"), ActionType.HTTP, True, user_id, {}, sealed(sealing, Receiver(url))
        )
        return actions.add(connection, new, NOW_US)


def enqueue(
    database: Database, target: str, count: int, action_id: int = 0, first: int = 0
) -> None:
    with database.writing() as connection:
        outbox.enqueue(
            connection,
            [
                NewMessage(
                    f"{target}-{n}",
                    target,
                    encode(Notice(id=str(n), title=f"t{n}", recipient_id=1, created_us=NOW_US)),
                    action_id,
                )
                for n in range(first, first + count)
            ],
            NOW_US,
        )


def titles(receiver: HttpReceiver) -> list[str]:
    return [json.loads(post.body)["title"] for post in receiver.posts]


def waiting(database: Database) -> int:
    return sum(one.waiting for one in outbox.targets(database))


def test_a_receiver_that_was_down_gets_everything_in_order(
    database: Database, sealing: Sealing, tmp_path: Path, make_loop: Callable[[Settings], Loop]
) -> None:
    port = free_port()
    action = webhook(database, sealing, f"http://127.0.0.1:{port}/")
    enqueue(database, "http:x", 60, action)
    loop = make_loop(here(tmp_path))
    assert loop.until(lambda: outbox.targets(database)[0].failures >= 4, advance_s=10)
    failing = outbox.targets(database)[0]
    assert "refused" in failing.error
    assert failing.failing_since_us > 0
    enqueue(database, "http:x", 60, action, first=60)
    with http_receiver(port=port) as receiver:
        assert loop.until(lambda: waiting(database) == 0, advance_s=10)
    assert titles(receiver) == [f"t{n}" for n in range(120)]
    works = outbox.targets(database)[0]
    assert (works.sent, works.failures, works.error) == (120, 0, "")


def test_targets_that_hang_delay_only_themselves(
    database: Database,
    sealing: Sealing,
    tmp_path: Path,
    make_loop: Callable[[Settings], Loop],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mail, "MAIL_CONNECT_S", 1.0)
    with hanging_server() as stuck, http_receiver() as receiver:
        settings = here(
            tmp_path,
            smtp_host="127.0.0.1",
            smtp_port=stuck,
            smtp_security="none",
            syslog_host="127.0.0.1",
            syslog_port=stuck,
            syslog_transport="tcp",
        )
        enqueue(database, mail_target(1), 5)
        for number in range(6):
            action = webhook(database, sealing, f"http://127.0.0.1:{stuck}/{number}")
            enqueue(database, f"http:stuck{number}", 5, action)
        good = webhook(database, sealing, receiver.url)
        loop = make_loop(settings)
        monkeypatch.setattr("vedette.notify.http_post.POST_CONNECT_S", 1.0)
        # The hanging ones have failed once: from now on they cannot take all threads.
        assert loop.until(
            lambda: sum(one.failures > 0 for one in outbox.targets(database)) == 7, 0.05
        )
        loop.clock.advance(OUTBOX_BACKOFF_MAX_S)
        loop.loop.dispatch()
        enqueue(database, "http:good", 5, good)
        begun = time.monotonic()
        assert loop.until(lambda: len(receiver.posts) == 5)
        assert time.monotonic() - begun < 0.9
        assert loop.until(lambda: waiting(database) == 35)  # the others' have not moved
        loop.loop.watch()
        text = generate_latest(loop.registry).decode()
    assert 'vedette_outbox_failing_targets{kind="http"} 6.0' in text
    assert 'vedette_outbox_waiting{kind="email"} 5.0' in text
    assert 'vedette_outbox_messages_total{kind="http",outcome="sent"} 5.0' in text


def test_a_refused_message_is_dead_and_the_next_goes_out(
    database: Database, sealing: Sealing, tmp_path: Path, make_loop: Callable[[Settings], Loop]
) -> None:
    with mail_server() as box:
        settings = here(tmp_path, smtp_host="127.0.0.1", smtp_port=box.port, smtp_security="none")
        users.add(database, users.NewUser("bob", email="bob@corp.example", is_global_admin=True), 1)
        box.refuse["bob@corp.example"] = "550 no such user"
        loop = make_loop(settings)
        with database.writing() as connection:
            for key, user_id in (("a", 2), ("b", 1)):
                body = encode(Notice(id=key, title=key, recipient_id=user_id, created_us=NOW_US))
                outbox.enqueue(connection, [NewMessage(key, "email:1", body)], NOW_US)
        assert loop.until(lambda: waiting(database) == 0)
    (dead,) = outbox.messages(database, MessageState.DEAD)
    assert (dead.key, "550" in dead.error) == ("a", True)
    assert box.recipients == ["admin@corp.example"]


def test_what_nobody_wants_any_more_is_discarded_with_the_reason(
    database: Database, sealing: Sealing, tmp_path: Path, make_loop: Callable[[Settings], Loop]
) -> None:
    users.add(database, users.NewUser("eve", email="eve@corp.example"), 1)
    with http_receiver() as receiver:
        blind = webhook(database, sealing, receiver.url, user_id=2)
        enqueue(database, "http:gone", 1, 999)
        enqueue(database, "http:blind", 1, blind)  # eve may not see what belongs to no host
        loop = make_loop(here(tmp_path))
        assert loop.until(lambda: waiting(database) == 0)
    found = outbox.messages(database, MessageState.DISCARDED)
    assert len(found) == 2
    assert all("disabled" in one.error for one in found)
    assert receiver.posts == []


def test_an_old_message_to_a_failing_target_becomes_a_dead_one_and_is_retried(
    database: Database, sealing: Sealing, tmp_path: Path, make_loop: Callable[[Settings], Loop]
) -> None:
    port = free_port()
    action = webhook(database, sealing, f"http://127.0.0.1:{port}/")
    enqueue(database, "http:x", 3, action)
    loop = make_loop(here(tmp_path))
    assert loop.until(lambda: outbox.targets(database)[0].failures == 1)
    assert waiting(database) == 3
    loop.clock.advance(OUTBOX_GIVE_UP_US / 1_000_000 + 1)
    assert loop.until(lambda: waiting(database) == 0)
    dead = outbox.messages(database, MessageState.DEAD)
    assert len(dead) == 3
    with http_receiver(port=port) as receiver:
        outbox.retry(database, [one.id for one in dead], loop.clock.now_us())
        assert loop.until(lambda: waiting(database) == 0)
    assert titles(receiver) == ["t0", "t1", "t2"]


def test_a_body_that_cannot_be_read_stops_nobody(
    database: Database, sealing: Sealing, tmp_path: Path, make_loop: Callable[[Settings], Loop]
) -> None:
    with http_receiver() as receiver:
        action = webhook(database, sealing, receiver.url)
        with database.writing() as connection:
            bad = NewMessage("bad", "http:x", '{"title": 5}', action)
            outbox.enqueue(connection, [bad], NOW_US)
        enqueue(database, "http:x", 1, action)
        loop = make_loop(here(tmp_path))
        assert loop.until(lambda: waiting(database) == 0)
    assert titles(receiver) == ["t0"]
    assert [one.key for one in outbox.messages(database, MessageState.DEAD)] == ["bad"]


@pytest.mark.parametrize("failures", [0, 1, 5, 50, 10_000])
def test_the_backoff_is_bounded(failures: int) -> None:
    assert 1 <= backoff_s(failures) <= OUTBOX_BACKOFF_MAX_S


CHILD = """
    import sys, time
    from pathlib import Path
    from prometheus_client import CollectorRegistry
    from vedette.clock import SystemClock
    from vedette.jobs.leases import owned_leases
    from vedette.notify.outbox_loop import OutboxLoop
    from vedette.notify.outbox_metrics import OutboxMetrics
    from vedette.notify.senders import SenderContext, all_senders
    from vedette.settings import Settings
    from vedette.state.db.database import open_database
    from vedette.state.db.sealing import open_sealing

    data = Path(sys.argv[1])
    database, clock = open_database("", data), SystemClock()
    settings = Settings(data=data, egress_allow=("127.0.0.1", "::1"))
    senders = all_senders(SenderContext(settings, clock, database, open_sealing(data)))
    loop = OutboxLoop(database, clock, senders, OutboxMetrics(CollectorRegistry(), list(senders)))
    with owned_leases(database, data):
        while True:
            loop.dispatch()
            time.sleep(0.01)
"""


def test_kills_in_the_middle_lose_nothing_and_keep_the_order(
    database: Database, sealing: Sealing, tmp_path: Path
) -> None:
    count = 100
    with http_receiver() as receiver:
        enqueue(database, "http:x", count, webhook(database, sealing, receiver.url))
        kills = 0
        deadline = time.monotonic() + 60
        while waiting(database) and time.monotonic() < deadline:
            before = len(receiver.posts)
            process = subprocess.Popen(
                [sys.executable, "-c", textwrap.dedent(CHILD), str(tmp_path)],
                env={**os.environ, "PYTHONPATH": str(Path.cwd())},
            )
            try:
                while len(receiver.posts) < before + 31 and waiting(database):
                    assert process.poll() is None
                    assert time.monotonic() < deadline
                    time.sleep(0.002)
            finally:
                process.send_signal(signal.SIGKILL)
                process.wait()
                kills += 1
    assert kills >= 3
    assert waiting(database) == 0
    numbers = [int(title[1:]) for title in titles(receiver)]
    assert set(numbers) == set(range(count))
    firsts = list(dict.fromkeys(numbers))
    assert firsts == sorted(firsts)
    assert len(numbers) <= count + kills, "at most the one in the middle of a kill comes twice"
    ids = [post.headers["webhook-id"] for post in receiver.posts]
    assert len(set(ids)) == count, "a second copy has the id of the first"

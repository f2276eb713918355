"""The head of the audit log on its way to syslog."""

import re

from vedette.notify.audit_head import send_audit_head
from vedette.notify.event_formats import FORMATS
from vedette.notify.notice import decode
from vedette.state.accounts import audit_trail
from vedette.state.accounts.audit_trail import Head
from vedette.state.db.database import Database
from vedette.state.jobs.outbox import take
from vedette.state.policy import groups

NOW_US = 1_800_000_000_000_000


def test_what_syslog_is_told_proves_the_log_later(database: Database) -> None:
    groups.add(database, "one")
    assert send_audit_head(database, NOW_US)
    [message] = take(database, "syslog", "test", NOW_US, 1_000_000, 10)
    for text in (one(decode(message.body)) for one in FORMATS.values()):
        found = re.search(r"(\d+):([0-9a-f]{64})", text)
        assert found, text
        head = Head(int(found[1]), found[2])
        assert not audit_trail.verify(database, head).fault
        assert audit_trail.verify(database, Head(head.number, "0" * 64)).fault


def test_a_head_is_sent_once_and_the_next_one_again(database: Database) -> None:
    groups.add(database, "one")
    assert send_audit_head(database, NOW_US)
    assert not send_audit_head(database, NOW_US + 1)
    groups.add(database, "two")
    assert send_audit_head(database, NOW_US + 2)
    assert len(take(database, "syslog", "test", NOW_US + 3, 1_000_000, 10)) == 2

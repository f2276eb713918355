"""Sends the head of the audit log to the syslog server, whose copy reveals any rewriting of the log
on this server (`vedette audit verify --head`)."""

from typing import Final

from vedette.notify.notice import Notice, encode
from vedette.notify.targets import SYSLOG
from vedette.state.accounts import audit_trail
from vedette.state.db.database import Database
from vedette.state.jobs.outbox import NewMessage, enqueue

_TITLE: Final = "Head of the audit log"


def send_audit_head(database: Database, now_us: int) -> bool:
    """Queues the head unless it was sent already. Returns whether it did."""
    head = audit_trail.head(database)
    if not head.number:
        return False
    text = f"{head.number}:{head.hash}"
    notice = Notice(
        id=f"audit-head-{head.number}",
        source_kind="server",
        source_id="audit",
        source_name="audit log",
        title=f"{_TITLE} {text}",
        time_us=now_us,
        created_us=now_us,
        matched={"head": text},
    )
    message = NewMessage(f"audit head {text}", SYSLOG, encode(notice))
    with database.writing() as connection:
        return enqueue(connection, [message], now_us) == 1

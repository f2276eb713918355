"""Tables of actions, the outbox, and automatic responses.

Migrations (`migrations/`) create them, like those of `schema.py`.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
)

from vedette.state.db.audited import audited
from vedette.state.db.schema import METADATA


def _number(name: str) -> Column[int]:
    return Column(name, BigInteger, nullable=False, server_default="0")


def _text(name: str) -> Column[str]:
    return Column(name, Text, nullable=False, server_default="")


ACTION = Table(
    "action",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("source_kind", Text, nullable=False),  # model.detection.SourceKind
    Column("source_id", Text, nullable=False),  # "*": every source of the kind
    Column("type", SmallInteger, nullable=False),  # model.action.ActionType
    Column("enabled", Boolean, nullable=False),
    # Owner of a mail action; null if the action has no owner.
    Column("user_id", ForeignKey("user_account.id", ondelete="CASCADE")),
    Column("data", Text, nullable=False, server_default="{}"),  # JSON
    _text("secret"),  # webhook signing secret, sealed
    _text("author"),  # user who added it; "": none, or a server before 0.2
    _number("changed_us"),
    Index("ix_action_source_id", "source_id", "source_kind"),
    sqlite_autoincrement=True,  # never reuses an id: message keys contain it
    info=audited(
        "action",
        "source_kind",
        "source_id",
        "id",
        only=("source_kind", "source_id", "type", "enabled", "user_id", "data"),
        secrets=("secret",),
    ),
)

OUTBOX = Table(
    "outbox",
    METADATA,
    Column("id", Integer, primary_key=True),  # order within a target
    Column("key", Text, nullable=False, unique=True),  # deduplicates messages permanently
    Column("target", Text, nullable=False),
    Column("state", SmallInteger, nullable=False),  # state.jobs.outbox.MessageState
    _number("action_id"),  # 0: no action
    _text("body"),  # JSON; emptied after sending
    _number("created_us"),
    _number("due_us"),  # earliest attempt
    _number("changed_us"),  # time of sending or of giving up
    _number("attempts"),
    _text("error"),  # error of the latest attempt
    Index("ix_outbox_target", "target", "state", "id"),
    Index("ix_outbox_state", "state", "changed_us"),
    sqlite_autoincrement=True,
)

OUTBOX_TARGET = Table(
    "outbox_target",
    METADATA,
    Column("name", Text, primary_key=True),
    _text("holder"),  # server that currently sends to it
    _number("held_until_us"),
    _number("failures"),  # attempts since the last success
    _number("failing_since_us"),  # 0: no failure
    _number("next_us"),  # earliest next attempt
    _number("waiting"),  # waiting messages
    _number("refused"),  # messages rejected because the queue was full
    _number("refused_us"),  # latest rejection
    _number("sent"),
    _number("sent_us"),  # latest success
    _text("error"),  # error of the latest failure
)

RESPONSE_POLICY = Table(
    "response_policy",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("enabled", Boolean, nullable=False),
    Column("body", Text, nullable=False),  # JSON of record.objects.response_policy
    _number("changed_us"),
    _text("username"),  # author of the latest change
    sqlite_autoincrement=True,
    info=audited("response policy", "name", only=("name", "enabled", "body")),
)

RESPONSE = Table(
    "response",
    METADATA,
    Column("id", Integer, primary_key=True),
    # No foreign key: responses stay on record after their policy is deleted.
    Column("policy_id", Integer, nullable=False),
    Column("detection_id", Text, nullable=False),
    Column("state", SmallInteger, nullable=False),  # state.jobs.responses.ResponseState
    _text("policy_name"),
    _text("action"),  # isolate or ban
    _text("subject"),  # sensor id, or md5
    _number("sensor_id"),
    _text("rule_id"),
    _text("title"),
    _number("created_us"),
    _number("done_us"),
    _number("ends_us"),  # when the response is undone; 0: never
    _number("undone_us"),
    _text("text"),  # why it was not performed or not undone
    UniqueConstraint("policy_id", "detection_id", name="uq_response_policy_id"),
    Index("ix_response_state", "state", "ends_us"),
    sqlite_autoincrement=True,
)

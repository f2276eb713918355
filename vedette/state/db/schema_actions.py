"""Tables of actions, of the outbox, and of response by rule.

Their history is in `migrations/`, like that of `schema.py`.
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
    # Whose mail it is; null for what belongs to nobody.
    Column("user_id", ForeignKey("user_account.id", ondelete="CASCADE")),
    Column("data", Text, nullable=False, server_default="{}"),  # JSON
    _text("secret"),  # that signs a webhook, sealed
    _number("changed_us"),
    Index("ix_action_source_id", "source_id", "source_kind"),
    sqlite_autoincrement=True,  # an id is never given twice: keys of messages hold it
    info=audited(
        "action",
        *("source_kind", "source_id", "id"),
        only=("source_kind", "source_id", "type", "enabled", "user_id", "data"),
        secrets=("secret",),
    ),
)

OUTBOX = Table(
    "outbox",
    METADATA,
    Column("id", Integer, primary_key=True),  # the order within a target
    Column("key", Text, nullable=False, unique=True),  # what was enqueued once is so for ever
    Column("target", Text, nullable=False),
    Column("state", SmallInteger, nullable=False),  # state.jobs.outbox.MessageState
    _number("action_id"),  # 0: of no action
    _text("body"),  # JSON; emptied once it is sent
    _number("created_us"),
    _number("due_us"),  # not before
    _number("changed_us"),  # when it was sent or given up
    _number("attempts"),
    _text("error"),  # of the latest attempt
    Index("ix_outbox_target", "target", "state", "id"),
    Index("ix_outbox_state", "state", "changed_us"),
    sqlite_autoincrement=True,
)

OUTBOX_TARGET = Table(
    "outbox_target",
    METADATA,
    Column("name", Text, primary_key=True),
    _text("holder"),  # who sends to it now
    _number("held_until_us"),
    _number("failures"),  # attempts since the last success
    _number("failing_since_us"),  # 0: it works
    _number("next_us"),  # no attempt before
    _number("waiting"),  # messages
    _number("refused"),  # that found the queue full
    _number("refused_us"),  # the latest of them
    _number("sent"),
    _number("sent_us"),  # the latest success
    _text("error"),  # of the latest failure
)

RESPONSE_POLICY = Table(
    "response_policy",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("enabled", Boolean, nullable=False),
    Column("body", Text, nullable=False),  # JSON of state.policy.response_policies.Policy
    _number("changed_us"),
    _text("username"),  # who changed it last
    sqlite_autoincrement=True,
    info=audited("response policy", "name", only=("name", "enabled", "body")),
)

RESPONSE = Table(
    "response",
    METADATA,
    Column("id", Integer, primary_key=True),
    # No foreign key: what was done stays on record when its policy is deleted.
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
    _number("ends_us"),  # when it is undone; 0: never
    _number("undone_us"),
    _text("text"),  # why it was not done or not undone
    UniqueConstraint("policy_id", "detection_id", name="uq_response_policy_id"),
    Index("ix_response_state", "state", "ends_us"),
    sqlite_autoincrement=True,
)

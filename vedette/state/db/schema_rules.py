"""Tables of detection rules. Migrations (`migrations/`) create them, like those of `schema.py`."""

from sqlalchemy import BigInteger, Boolean, Column, Index, Table, Text

from vedette.state.db.audited import audited
from vedette.state.db.schema import METADATA


def _number(name: str) -> Column[int]:
    return Column(name, BigInteger, nullable=False, server_default="0")


def _text(name: str) -> Column[str]:
    return Column(name, Text, nullable=False, server_default="")


SIGMA_RULE = Table(
    "sigma_rule",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("kind", Text, nullable=False),  # rule, correlation or filter
    _text("text"),  # YAML with one document
    _text("title"),
    _text("level"),
    _text("status"),
    _text("version"),
    _text("origin"),
    _text("compiled"),  # JSON of detect/rule_codec.py; "": cannot be evaluated
    _number("codec"),
    _text("problem_reason"),
    _text("problem_message"),
    Column("enabled", Boolean, nullable=False),
    _number("revision"),
    _number("created_us"),
    _number("modified_us"),
    _text("modified_by"),
    _number("text_us"),  # time and author of the latest change of `text`
    _text("text_by"),
    _number("generation"),  # generation of the list at the rule's last change
    _number("stopped_us"),
    _text("stopped_reason"),
    _number("deleted_us"),  # retained for a while: hits without an alert refer to it
    Index("ix_sigma_rule_generation", "generation"),
    info=audited(
        "sigma rule",
        "id",
        only=("id", "text", "title", "level", "origin", "enabled", "stopped_us", "stopped_reason"),
        deleted="deleted_us",
    ),
)

SIGMA_VERSION = Table(
    "sigma_version",  # earlier texts of rules
    METADATA,
    Column("rule_id", Text, primary_key=True),
    Column("revision", BigInteger, primary_key=True, autoincrement=False),
    _text("text"),
    _text("title"),
    _text("level"),
    _number("text_us"),
    _text("text_by"),
)

SIGMA_PLACEHOLDER = Table(
    "sigma_placeholder",
    METADATA,
    Column("name", Text, primary_key=True),  # without its %
    Column("body", Text, nullable=False, server_default="[]"),  # JSON list of texts
    _number("modified_us"),
    _text("modified_by"),
    info=audited("placeholder of sigma rules", "name", only=("name", "body")),
)

SIGMA_COUNT = Table(
    "sigma_count",
    METADATA,
    Column("rule_id", Text, primary_key=True),
    _number("events"),
    _number("hits"),
    _number("verify_us"),
    _number("last_hit_us"),
)

LOG_SOURCE = Table(
    "log_source",
    METADATA,
    Column("source", Text, primary_key=True),  # class of events, of detect/views/sources.py
    _number("events"),
    _number("first_us"),  # arrival of the first event
    _number("last_us"),
)

CORRELATION_STATE = Table(
    "correlation_state",
    METADATA,
    Column("rule_id", Text, primary_key=True),
    Column("group_key", Text, primary_key=True),  # digest of the group's values
    _text("body"),  # JSON of detect/correlation.py
    _number("changed_us"),
    Index("ix_correlation_state_changed_us", "changed_us"),
)

"""Tables of sensor-update jobs. Migrations (`migrations/`) create them, like those of
`schema.py`."""

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, Table, Text

from vedette.state.db.audited import audited
from vedette.state.db.schema import METADATA


def _number(name: str) -> Column[int]:
    return Column(name, BigInteger, nullable=False, server_default="0")


def _text(name: str) -> Column[str]:
    return Column(name, Text, nullable=False, server_default="")


UPDATE_JOB = Table(
    "update_job",
    METADATA,
    Column("id", Text, primary_key=True),
    _text("login_name"),  # user who created it
    Column("status", Text, nullable=False),  # IN_PROGRESS, CANCELLED, COMPLETED
    Column("kits", Text, nullable=False),  # JSON: kit type to version, sha256, size
    _number("created_us"),
    _number("ended_us"),  # 0: running
    _number("expires_us"),
    _number("wave"),  # current wave; devices of higher waves wait
    _number("failures_max"),  # -1: no limit
    Index("ix_update_job_status", "status"),
    info=audited("sensor update job", "id", only=("id", "login_name", "status", "kits")),
)

UPDATE_TARGET = Table(
    "update_target",
    METADATA,
    Column("job_id", ForeignKey("update_job.id", ondelete="CASCADE"), primary_key=True),
    Column("device_id", BigInteger, primary_key=True, autoincrement=False),
    Column("state", Text, nullable=False),  # NOT_HINTED, HINTED, DOWNLOADED, UPDATED, FAILED
    _text("failure"),  # JOB_CANCELLED, NO_DATA_FOUND, JOB_EXPIRED, ...
    _text("reason"),
    _text("initial_version"),
    _text("updated_version"),
    _number("hinted_us"),  # 0: not yet
    _text("kit_type"),
    _text("os"),
    Column("wave", Integer, nullable=False, server_default="0"),
    Index("ix_update_target_device_id", "device_id"),
)

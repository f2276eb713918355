"""Tables of the fleet: enrolment secrets, sensor keys, upload queues, stored files, live queries,
shards of a cluster.

Migrations (`migrations/`) create them, like those of `schema.py`.
"""

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, Table, Text

from vedette.state.db.audited import audited
from vedette.state.db.schema import METADATA


def _number(name: str) -> Column[int]:
    return Column(name, BigInteger, nullable=False, server_default="0")


def _text(name: str) -> Column[str]:
    return Column(name, Text, nullable=False, server_default="")


ENROLMENT_SECRET = Table(
    "enrolment_secret",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("group_id", ForeignKey("sensor_group.id", ondelete="CASCADE"), nullable=False),
    Column(
        "secret", Text, nullable=False, unique=True
    ),  # readable, for a reason that `state/sensors/enrolment.py` gives
    _number("created_us"),
    _number("revoked_us"),  # 0: not revoked
    _number("expires_us"),  # 0: never
    _number("uses_max"),  # hosts that may enrol with it; 0: unlimited
    _number("uses"),
    Index("ix_enrolment_secret_group_id", "group_id"),
    sqlite_autoincrement=True,
    info=audited(
        "enrolment secret",
        "group_id",
        "id",
        only=("group_id", "revoked_us", "expires_us", "uses_max"),
        secrets=("secret",),
    ),
)

SENSOR_KEY_EVENT = Table(
    "sensor_key_event",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("sensor_id", ForeignKey("sensor.id", ondelete="CASCADE"), nullable=False),
    _number("time_us"),
    _text("kind"),  # sensor or osquery
    _text("action"),  # state/sensors/key_replacement.py
    _text("machine_id"),
    _text("address"),  # origin of the enrolment
    _text("username"),  # user who approved or rejected
    Index("ix_sensor_key_event_sensor_id", "sensor_id"),
    sqlite_autoincrement=True,
)

SENSOR_QUEUE = Table(
    "sensor_queue",
    METADATA,
    Column("sensor_id", ForeignKey("sensor.id", ondelete="CASCADE"), primary_key=True),
    Column("epoch", Text, primary_key=True),  # id of one queue on the host's disk
    _number("expected"),  # number after the highest stored block
    _text("missing"),  # JSON [[first, last], ...]: missing numbers below `expected`
    _text("hashes"),  # JSON {number: content hash} of the newest blocks
    _number("changed_us"),
)

SENSOR_HEALTH = Table(
    "sensor_health",
    METADATA,
    Column(
        "sensor_id",
        ForeignKey("sensor.id", ondelete="CASCADE", name="fk_sensor_health_sensor_id_sensor"),
        primary_key=True,
    ),
    Column("hour", BigInteger, primary_key=True, autoincrement=False),  # since 1970
    _number("earlier"),  # health before the first change of the hour
    _number("least"),
    _number("latest"),
    _text("message"),  # message of the latest health
    Index("ix_sensor_health_hour", "hour"),
)
"""Hours in which a sensor's health changed."""

STORED_FILE = Table(
    "stored_file",
    METADATA,
    Column("sha256", Text, primary_key=True),
    Column("sensor_id", Integer, primary_key=True),  # 0: verified; else the claiming sensor
    _text("md5"),
    _text("path"),  # on the host of origin
    _number("size"),
    _number("copied"),  # stored bytes: a prefix if less than `size`
    _text("content_sha256"),  # SHA-256 of the stored bytes; "" for copies of older versions
    _number("stored_us"),
    _text("read_by"),  # last reader and its trusted certificates; "" for unread
    _number("asked"),  # downloads
    _number("asked_us"),  # latest download
    _number("added"),  # added by an operator, and for whom (`stored_files.Added`)
    Index("ix_stored_file_md5", "md5"),
    Index("ix_stored_file_read_by", "read_by"),
)

STORED_FILE_SENDER = Table(
    "stored_file_sender",
    METADATA,
    Column("sha256", Text, primary_key=True),  # verified copy
    Column("sensor_id", ForeignKey("sensor.id", ondelete="CASCADE"), primary_key=True),
    _number("copied"),  # bytes sent by this sensor
    _number("stored_us"),
    Index("ix_stored_file_sender_sensor_id", "sensor_id"),
)

BINARY_ORDER = Table(
    "binary_order",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("sensor_id", ForeignKey("sensor.id", ondelete="CASCADE"), nullable=False),
    _text("md5"),
    _text("sha256"),
    _text("paths"),  # JSON: paths where the sensor saw it
    _text("username"),  # requesting user; "" for the group's rule
    _text("state"),  # open, done, failed, cancelled
    _text("message"),  # reason of a failure
    _number("created_us"),
    _number("expires_us"),
    _number("sent_us"),  # when the sensor received it; 0: not yet
    _number("received"),  # bytes
    _number("ended_us"),  # 0: not yet
    Index("ix_binary_order_sensor_id", "sensor_id", "state"),
    Index("ix_binary_order_md5", "md5"),
    Index("ix_binary_order_sha256", "sha256"),
    sqlite_autoincrement=True,
    info=audited(
        "binary order", "id", only=("sensor_id", "md5", "sha256", "username", "state", "message")
    ),
)

YARA_RULE = Table(
    "yara_rule",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("text", Text, nullable=False),
    _number("enabled"),  # 1: yes
    _text("problem"),  # why the server disabled it
    _text("username"),  # author of the latest change
    _number("changed_us"),
    info=audited("yara rules", "name", only=("name", "enabled", "problem"), secrets=("text",)),
)

LIVE_QUERY = Table(
    "live_query",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("sql", Text, nullable=False),
    _text("username"),
    _number("created_us"),
    _number("expires_us"),
    sqlite_autoincrement=True,
    info=audited("live query", "id", only=("sql", "username")),
)

LIVE_QUERY_TARGET = Table(
    "live_query_target",
    METADATA,
    Column("query_id", ForeignKey("live_query.id", ondelete="CASCADE"), primary_key=True),
    Column("sensor_id", ForeignKey("sensor.id", ondelete="CASCADE"), primary_key=True),
    _number("sent_us"),  # 0: not sent yet
    _number("answered_us"),  # 0: not answered yet
    _number("status"),  # osquery status: 0 is success
    _text("rows"),  # JSON
    _text("message"),
    Index("ix_live_query_target_sensor_id", "sensor_id"),
)

SHARD_RANGE = Table(
    "shard_range",
    METADATA,
    # First sensor id of the range, which extends to the next row.
    Column("first_sensor_id", BigInteger, primary_key=True, autoincrement=False),
    Column("shards", Text, nullable=False),  # comma-separated numbers, used in turn
)

SENSOR_SHARD = Table(
    "sensor_shard",
    METADATA,
    # Moved sensors. No foreign key to `sensor`, since telemetry outlives the sensor.
    Column("sensor_id", BigInteger, primary_key=True, autoincrement=False),
    Column("shard", Integer, nullable=False),
)

SENSOR_MOVE = Table(
    "sensor_move",
    METADATA,
    # Sensors in transfer: the journal of `vedette cluster move`.
    Column("sensor_id", BigInteger, primary_key=True, autoincrement=False),
    Column("source", Integer, nullable=False),
    Column("target", Integer, nullable=False),
    Column("step", Text, nullable=False),
)

"""Progress of a sensor's upload queue: which numbered blocks are stored, which are missing.

A sensor numbers the blocks of its queue from 1 on (docs/sensor-protocol.md). A number beyond the
expected one leaves a gap; a late block fills it. A number below the expected one that is not
missing was stored before, however long ago.

The store comes first and this record second, so a crash between the two leaves a block that is
stored and not recorded: when it is sent again, the write path knows the request itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import orjson
from sqlalchemy import Connection, delete, select, update

from vedette import limits
from vedette.errors import ConflictError
from vedette.state.db.database import Database, insert_new
from vedette.state.db.schema import SENSOR
from vedette.state.db.schema_fleet import SENSOR_QUEUE

_MOST = 2**62
"""What the column holds; a sensor may claim any gap."""

Range = tuple[int, int]
"""First and last number, both included."""


@dataclass(frozen=True, slots=True)
class Block:
    """One block as sent; `content` is a hash of its bytes."""

    sensor_id: int
    epoch: str
    number: int
    content: int


@dataclass(frozen=True, slots=True)
class QueueProgress:
    """Known state of a queue."""

    expected: int = 1
    missing: tuple[Range, ...] = ()
    hashes: tuple[tuple[int, int], ...] = ()
    """Number and content of the newest blocks, ascending."""

    def has(self, number: int) -> bool:
        return number < self.expected and not any(a <= number <= b for a, b in self.missing)

    @property
    def missing_blocks(self) -> int:
        return sum(last - first + 1 for first, last in self.missing)


def progress(connection: Connection, sensor_id: int, epoch: str) -> QueueProgress:
    """Progress of one queue; an unknown queue expects its first block."""
    query = select(SENSOR_QUEUE).where(
        SENSOR_QUEUE.c.sensor_id == sensor_id, SENSOR_QUEUE.c.epoch == epoch
    )
    row = connection.execute(query.with_for_update()).mappings().first()
    if row is None:
        return QueueProgress()
    return QueueProgress(
        row["expected"],
        tuple((first, last) for first, last in orjson.loads(row["missing"])),
        tuple((number, content) for number, content in orjson.loads(row["hashes"])),
    )


def queues_of(
    database: Database, sensor_ids: Sequence[int], since_us: int
) -> dict[int, list[tuple[str, QueueProgress]]]:
    """Epoch and progress of the queues that changed since a time, by sensor."""
    query = select(SENSOR_QUEUE).where(
        SENSOR_QUEUE.c.sensor_id.in_(sensor_ids), SENSOR_QUEUE.c.changed_us >= since_us
    )
    found: dict[int, list[tuple[str, QueueProgress]]] = {}
    with database.reading() as connection:
        for row in connection.execute(query.order_by(SENSOR_QUEUE.c.epoch)).mappings():
            missing = tuple((first, last) for first, last in orjson.loads(row["missing"]))
            queue = (row["epoch"], QueueProgress(row["expected"], missing))
            found.setdefault(row["sensor_id"], []).append(queue)
    return found


def stored_before(database: Database, block: Block) -> int | None:
    """The number that is expected now, if the block is stored already; None for a new one.

    Raises ConflictError when another block was stored under its number.
    """
    with database.reading() as connection:
        known = progress(connection, block.sensor_id, block.epoch)
    if not known.has(block.number):
        return None
    if dict(known.hashes).get(block.number, block.content) != block.content:
        raise ConflictError(
            f"block {block.number} of this queue was stored with another content",
            reason="sequence_conflict",
        )
    return known.expected


def record(connection: Connection, block: Block, now_us: int) -> int:
    """Record that a block is stored; returns the number expected next."""
    before = progress(connection, block.sensor_id, block.epoch)
    after = taken(before, block.number, block.content)
    values = {
        "expected": after.expected,
        "missing": orjson.dumps(after.missing).decode(),
        "hashes": orjson.dumps(after.hashes).decode(),
        "changed_us": now_us,
    }
    if before == QueueProgress():
        row = {"sensor_id": block.sensor_id, "epoch": block.epoch} | values
        if not connection.execute(insert_new(connection, SENSOR_QUEUE), row).rowcount:
            return record(connection, block, now_us)  # another server was faster
        _delete_oldest(connection, block.sensor_id, block.epoch)
    else:
        connection.execute(
            update(SENSOR_QUEUE)
            .where(SENSOR_QUEUE.c.sensor_id == block.sensor_id)
            .where(SENSOR_QUEUE.c.epoch == block.epoch)
            .values(values)
        )
    if before.missing != after.missing:
        _count_gaps(connection, block.sensor_id)
    return after.expected


def taken(before: QueueProgress, number: int, content: int) -> QueueProgress:
    """The queue with one more block."""
    missing = list(before.missing)
    if number >= before.expected:
        if number > before.expected:
            missing.append((before.expected, number - 1))
    else:
        missing = [part for gap in missing for part in _without(gap, number)]
    hashes = dict(before.hashes) | {number: content}
    newest = sorted(hashes.items())[-limits.SENSOR_HASHES_KEPT :]
    return QueueProgress(
        max(before.expected, number + 1),
        tuple(_bounded(sorted(missing))),
        tuple(newest),
    )


def _bounded(gaps: list[Range]) -> list[Range]:
    """At most SENSOR_GAPS_MAX gaps: the oldest are merged, together with the stored blocks between
    them. If such a block is sent again, the write path deduplicates it; dropping the gap
    instead would lose a block."""
    extra = len(gaps) - limits.SENSOR_GAPS_MAX
    return gaps if extra <= 0 else [(gaps[0][0], gaps[extra][1]), *gaps[extra + 1 :]]


def _without(gap: Range, number: int) -> list[Range]:
    first, last = gap
    if not first <= number <= last:
        return [gap]
    return [(a, b) for a, b in ((first, number - 1), (number + 1, last)) if a <= b]


def _delete_oldest(connection: Connection, sensor_id: int, newest: str) -> None:
    """Evict the oldest queues of a sensor, so that one that keeps starting queues does not fill
    the table."""
    mine = (SENSOR_QUEUE.c.sensor_id == sensor_id) & (SENSOR_QUEUE.c.epoch != newest)
    oldest = (
        select(SENSOR_QUEUE.c.epoch)
        .where(mine)
        .order_by(SENSOR_QUEUE.c.changed_us.desc())
        .offset(limits.SENSOR_EPOCHS_MAX - 1)
    )
    epochs = list(connection.scalars(oldest.limit(limits.SENSOR_EPOCHS_MAX)))
    if epochs:
        connection.execute(delete(SENSOR_QUEUE).where(mine, SENSOR_QUEUE.c.epoch.in_(epochs)))


def _count_gaps(connection: Connection, sensor_id: int) -> None:
    """Write the gaps of all queues of a sensor to its row."""
    texts = connection.scalars(
        select(SENSOR_QUEUE.c.missing).where(SENSOR_QUEUE.c.sensor_id == sensor_id)
    )
    gaps: list[Range] = [(a, b) for text in texts for a, b in orjson.loads(text)]
    lost = sum(last - first + 1 for first, last in gaps)
    connection.execute(
        update(SENSOR)
        .where(SENSOR.c.id == sensor_id)
        .values(sequence_gaps=len(gaps), missing_blocks=min(lost, _MOST))
    )

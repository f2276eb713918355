"""Progress of a sensor's upload queue: numbers of stored and missing blocks.

A sensor numbers the blocks of its queue from 1 (docs/sensor-events.md). A number beyond the
expected one leaves a gap, which a late block fills. A number below the expected one that is not
missing was stored before, however long ago.

The store commits first, this record second. A crash in between leaves a block that is stored but
not recorded; when the sensor sends it again, the write path recognizes the request.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import orjson
from sqlalchemy import Connection, delete, select, update

from vedette.errors import ConflictError
from vedette.limits import Limit
from vedette.state.db.database import Database, insert_new
from vedette.state.db.schema import SENSOR
from vedette.state.db.schema_fleet import SENSOR_QUEUE

SENSOR_EPOCHS_MAX: Limit[int] = 8
"""Queues per sensor with stored progress; a sensor starts a new queue when it loses its disk."""

SENSOR_HASHES_KEPT: Limit[int] = 64
"""Blocks of a queue with a stored hash, to recognize a repeated block."""

SENSOR_GAPS_MAX: Limit[int] = 1_000
"""Stored gaps per queue; above it, the oldest gaps are merged."""


_MOST = 2**62
"""Maximum value for the column; a sensor may claim any gap."""

Range = tuple[int, int]
"""First and last number, both inclusive."""


@dataclass(frozen=True, slots=True)
class Block:
    """A block as sent; `content` is a hash of its bytes."""

    sensor_id: int
    epoch: str
    number: int
    content: int


@dataclass(frozen=True, slots=True)
class QueueProgress:
    """Progress of a queue."""

    expected: int = 1
    missing: tuple[Range, ...] = ()
    hashes: tuple[tuple[int, int], ...] = ()
    """(number, content hash) of the newest blocks, ascending."""

    def has(self, number: int) -> bool:
        return number < self.expected and not any(a <= number <= b for a, b in self.missing)

    @property
    def missing_blocks(self) -> int:
        return sum(last - first + 1 for first, last in self.missing)


def progress(connection: Connection, sensor_id: int, epoch: str) -> QueueProgress:
    """Returns the progress of a queue, with a row lock; an unknown queue expects its first
    block."""
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
    """Maps sensor id to (epoch, progress) of its queues that changed since `since_us`."""
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
    """Returns the next expected number if the block is already stored; None for a new block.

    Raises ConflictError if another block was stored under its number.
    """
    with database.reading() as connection:
        known = progress(connection, block.sensor_id, block.epoch)
    if not known.has(block.number):
        return None
    if dict(known.hashes).get(block.number, block.content) != block.content:
        raise ConflictError(
            f"block {block.number} of this queue was already stored with different content",
            reason="sequence_conflict",
        )
    return known.expected


def record(connection: Connection, block: Block, now_us: int) -> int:
    """Records a stored block and returns the next expected number."""
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
            return record(connection, block, now_us)  # another server inserted it first
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
    """Returns the queue's progress after one more block."""
    missing = list(before.missing)
    if number >= before.expected:
        if number > before.expected:
            missing.append((before.expected, number - 1))
    else:
        missing = [part for gap in missing for part in _without(gap, number)]
    hashes = dict(before.hashes) | {number: content}
    newest = sorted(hashes.items())[-SENSOR_HASHES_KEPT:]
    return QueueProgress(
        max(before.expected, number + 1),
        tuple(_bounded(sorted(missing))),
        tuple(newest),
    )


def _bounded(gaps: list[Range]) -> list[Range]:
    """Merges the oldest gaps, with the stored blocks between them, down to SENSOR_GAPS_MAX. The
    write path deduplicates such a block if it is sent again; dropping the gap instead would lose a
    block."""
    extra = len(gaps) - SENSOR_GAPS_MAX
    return gaps if extra <= 0 else [(gaps[0][0], gaps[extra][1]), *gaps[extra + 1 :]]


def _without(gap: Range, number: int) -> list[Range]:
    first, last = gap
    if not first <= number <= last:
        return [gap]
    return [(a, b) for a, b in ((first, number - 1), (number + 1, last)) if a <= b]


def _delete_oldest(connection: Connection, sensor_id: int, newest: str) -> None:
    """Deletes the oldest queues of a sensor, so that a sensor that keeps starting queues does not
    fill the table."""
    mine = (SENSOR_QUEUE.c.sensor_id == sensor_id) & (SENSOR_QUEUE.c.epoch != newest)
    oldest = (
        select(SENSOR_QUEUE.c.epoch)
        .where(mine)
        .order_by(SENSOR_QUEUE.c.changed_us.desc())
        .offset(SENSOR_EPOCHS_MAX - 1)
    )
    epochs = list(connection.scalars(oldest.limit(SENSOR_EPOCHS_MAX)))
    if epochs:
        connection.execute(delete(SENSOR_QUEUE).where(mine, SENSOR_QUEUE.c.epoch.in_(epochs)))


def _count_gaps(connection: Connection, sensor_id: int) -> None:
    """Writes the total of gaps and missing blocks to the sensor's row."""
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

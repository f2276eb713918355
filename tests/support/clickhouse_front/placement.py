"""Several shards in one engine: which of them each row is on.

The front's cluster names its engine once for every shard, so a Distributed table reads the same
rows from all. A filter on the local tables leaves each shard those that inserts sent there.
"""

import io
import re
import threading
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from vedette.cluster.probe_table import PROBE
from vedette.store.schema.tables import SHARDED

_PAIR: Final = re.compile(r"'([\w.]+)': '([^']*)'")


class Placement:
    """The shard of every sensor whose rows were inserted. Thread-safe."""

    def __init__(self, shards: int) -> None:
        self._shards = shards
        self._lock = threading.Lock()
        self._places: dict[int, int] = {}
        self._split: set[int] = set()

    def note(self, shard: int, kind: str, rows: bytes) -> None:
        """Rows that an insert sends to a shard."""
        if kind != "Arrow" or self._shards == 1:
            return
        table = pa.ipc.open_file(io.BytesIO(rows)).read_all()
        if "sensor_id" not in table.column_names:
            return
        with self._lock:
            for sensor_id in pc.unique(table.column("sensor_id")).to_pylist():
                if self._places.setdefault(sensor_id, shard) != shard:
                    self._split.add(sensor_id)

    def state(self) -> dict[str, object]:
        with self._lock:
            places = {str(sensor): shard for sensor, shard in self._places.items()}
            return {"places": places, "split": sorted(self._split)}

    def filters(self, asked: str, database: str) -> str:
        """`additional_table_filters` that let each shard see its rows, besides those asked for."""
        found = dict(_PAIR.findall(asked))
        if self._shards > 1:
            with self._lock:
                sensors = ", ".join(map(str, self._places)) or "0"
                slots = ", ".join(str(one - 1) for one in self._places.values()) or "0"
            own = f"shardNum() IN (0, 1 + transform(sensor_id, [{sensors}], [{slots}], 0))"
            for table in (*SHARDED, PROBE.name):
                name = f"{table}_local"
                also = found.pop(name, "")
                found[f"{database}.{name}"] = f"({also}) AND {own}" if also else own
        return "{" + ", ".join(f"'{name}': '{one}'" for name, one in found.items()) + "}"

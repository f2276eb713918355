"""Measures chDB alone: inserts the segment rows of a stopped server into an empty store.

    python -m bench.raw_insert export DATA FILE     rows of a server's store to an Arrow file
    python -m bench.raw_insert insert FILE DIR      the same rows into an empty store, timed

Two processes, because a process can open only one store. The insert uses the server's tables and
durability settings, and blocks with as many events as a commit.
"""

import json
import sys
import time
from pathlib import Path

import clickhouse_connect
import pyarrow as pa
import pyarrow.compute as pc

from vedette.model.columns import EVENT_KINDS
from vedette.store.engine.client import DATABASE
from vedette.store.engine.open import open_engine
from vedette.store.schema.create import create_tables

EVENTS_PER_BLOCK = 10_000
SECONDS = 20
_ROWS_MAX = 400_000


def export_rows(telemetry: Path, file: Path) -> None:
    """Rows as they lie in the table, merged or not."""
    config = (telemetry / "engine.xml").resolve()
    path = f"{(telemetry / 'clickhouse').resolve()}?config-file={config}"
    client = clickhouse_connect.get_client(interface="chdb", path=path, database=DATABASE)
    # Rows of one fat daemon each would be another load than the processes of a fleet.
    counts = " + ".join(f"{kind.name}_count" for kind in EVENT_KINDS)
    rows = client.query_arrow(f"SELECT * FROM segment WHERE {counts} < 1000 LIMIT {_ROWS_MAX}")
    with pa.OSFile(str(file), "wb") as sink, pa.ipc.new_file(sink, rows.schema) as writer:
        writer.write_table(rows)
    client.close()


def insert_rows(file: Path, directory: Path) -> dict[str, float]:
    """Events a second, until the rows or the time are used up."""
    with pa.memory_map(str(file)) as source:
        rows = pa.ipc.open_file(source).read_all()
    events = sum(pc.sum(rows[f"{kind.name}_count"]).as_py() or 0 for kind in EVENT_KINDS)
    step = max(1, int(EVENTS_PER_BLOCK * rows.num_rows / max(1, events)))
    engine = open_engine(directory)
    create_tables(engine)
    begin, done = time.perf_counter(), 0
    for start in range(0, rows.num_rows, step):
        block = rows.slice(start, step)
        engine.insert_arrow("segment", block)
        done += block.num_rows
        if time.perf_counter() - begin > SECONDS:
            break
    seconds = time.perf_counter() - begin
    engine.close()
    return {"events_per_s": events * done / max(1, rows.num_rows) / seconds, "seconds": seconds}


def main(arguments: list[str]) -> None:
    verb, source, target = arguments
    if verb == "export":
        export_rows(Path(source), Path(target))
    else:
        print(json.dumps(insert_rows(Path(source), Path(target))))


if __name__ == "__main__":
    main(sys.argv[1:])

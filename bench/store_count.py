"""Counts the source records in the store of a stopped server, and its bytes.
`python -m bench.store_count DIR`

Counts the distinct identities of records behind events and of kept records, so that duplicates
count once and lost records do not count. Bytes are those of active parts, because merged parts
remain on disk for some minutes. Opens the store in a separate process, because a process can open
only one store.
"""

import json
import subprocess
import sys
from pathlib import Path

from vedette.store.engine.open import open_engine

_RECORDS = """
SELECT uniqExact(sensor_id, key) FROM (
    SELECT sensor_id, arrayJoin(record_keys) AS key FROM segment
    UNION ALL
    SELECT sensor_id, record_key AS key FROM record WHERE record_key != 0
)
"""


_BYTES = "SELECT sum(bytes_on_disk) FROM system.parts WHERE active"


def count_records(telemetry: Path) -> tuple[int, int]:
    """Records and bytes, counted in a child process."""
    command = [sys.executable, "-m", "bench.store_count", str(telemetry)]
    reported = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    records, size = json.loads(reported)
    return records, size


def main(telemetry: Path) -> None:
    engine = open_engine(telemetry)
    print(json.dumps([engine.query(sql).rows[0][0] for sql in (_RECORDS, _BYTES)]))
    engine.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))

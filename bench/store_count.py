"""How many source records does a stopped server's store hold? `python -m bench.store_count DIR`

Counts the distinct identities of records behind events and of kept records, so that nothing
stored twice counts twice and nothing lost counts at all. Opens the store in a process of its
own, because one process can have one store open.
"""

import subprocess
import sys
from pathlib import Path

from vedette.store.open import open_engine

_RECORDS = """
SELECT uniqExact(sensor_id, key) FROM (
    SELECT sensor_id, arrayJoin(record_keys) AS key FROM segment
    UNION ALL
    SELECT sensor_id, record_key AS key FROM record WHERE record_key != 0
)
"""


def count_records(telemetry: Path) -> int:
    """Counts in a child process."""
    command = [sys.executable, "-m", "bench.store_count", str(telemetry)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main(telemetry: Path) -> None:
    engine = open_engine(telemetry)
    print(engine.query(_RECORDS).rows[0][0])
    engine.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))

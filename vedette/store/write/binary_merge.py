"""Merges records of files with only a SHA-256 into the record of the same file once its MD5 is
known: from its bytes, or because all sensors that report both hashes agree.

Rows are written again under the MD5 before exactly the older rows are deleted. A kill in between
leaves a file twice until the next round, and rows that arrive meanwhile are never lost.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from vedette.limits import Limit
from vedette.model.columns import SIGHTING, Column
from vedette.store.engine.arrow_arrays import array, columns_of, lists, offsets
from vedette.store.engine.client import Engine

BINARY_ROWS_MERGED_MAX: Limit[int] = 10_000
"""Rows of files with only a SHA-256 that one round moves to their MD5: a second or two of work."""


_COLUMNS: Final = (Column("hash", "text"), Column("sensor_id", "u32"), *SIGHTING)
_WAIT: Final = 2
"""Waits for all replicas."""
_ROWS: Final = "(hash, sensor_id, seq) IN {rows:Array(Tuple(String, UInt32, UInt64))}"


def merge_known_files(engine: Engine) -> int:
    """Runs one round; returns the number of rows merged. Idempotent."""
    known = _known_md5s(engine)
    if not known:
        return 0
    names = ", ".join(f"`{column.name}`" for column in _COLUMNS)
    rows = engine.query(
        f"SELECT {names}, observed_filename FROM binary WHERE md5 = '' "
        f"AND hash IN {{hashes:Array(String)}} LIMIT {BINARY_ROWS_MERGED_MAX:d}",
        {"hashes": list(known)},
    ).dicts()
    found = list(rows)
    if not found:
        return 0
    _write_again(engine, found, known)
    capabilities = engine.capabilities
    engine.command(
        f"ALTER TABLE `{capabilities.storage('binary')}`{capabilities.on_cluster} DELETE "
        f"WHERE md5 = '' AND {_ROWS} SETTINGS mutations_sync = {_WAIT:d}",
        {"rows": [(row["hash"], row["sensor_id"], row["seq"]) for row in found]},
    )
    return len(found)


def _known_md5s(engine: Engine) -> dict[str, str]:
    """Maps SHA-256 to MD5 for files that have rows without an MD5.

    Reports of hosts count only if all reports with either hash give the same pair: a single host
    must not be able to assign a program the name of another one.
    """
    alone = "SELECT hash FROM binary WHERE md5 = '' AND hash = sha256"
    if not engine.query(f"{alone} LIMIT 1").rows:  # most fleets: all senders report the MD5
        return {}
    read = engine.query(
        "SELECT sha256, max(md5) FROM binary_reading "
        f"WHERE sensor_id = 0 AND md5 != '' AND sha256 GLOBAL IN ({alone}) "
        f"GROUP BY sha256 LIMIT {BINARY_ROWS_MERGED_MAX:d}"
    ).rows
    pairs = f"SELECT md5, sha256 FROM binary WHERE md5 != '' AND sha256 GLOBAL IN ({alone})"
    said = engine.query(
        "SELECT sha256, max(md5) AS only FROM binary WHERE md5 != '' "
        f"AND md5 GLOBAL IN (SELECT md5 FROM ({pairs})) AND sha256 != '' "
        "GROUP BY sha256 HAVING uniqExact(md5) = 1 AND only GLOBAL IN ("
        "SELECT md5 FROM binary WHERE md5 != '' "
        f"AND md5 GLOBAL IN (SELECT md5 FROM ({pairs})) AND sha256 != '' "
        "GROUP BY md5 HAVING uniqExact(sha256) = 1) "
        f"AND sha256 GLOBAL IN ({alone}) LIMIT {BINARY_ROWS_MERGED_MAX:d}"
    ).rows
    return {str(sha256): str(md5) for sha256, md5 in (*said, *read)}


def _write_again(
    engine: Engine, rows: Sequence[Mapping[str, Any]], known: Mapping[str, str]
) -> None:
    """Writes the rows again under their MD5, and the tags of their files."""
    named = [{**row, "hash": known[row["hash"]], "md5": known[row["hash"]]} for row in rows]
    paths = [row["observed_filename"] for row in rows]
    seen = lists(array([one for some in paths for one in some], "text"), offsets(map(len, paths)))
    engine.insert_arrow(
        "binary", pa.table({**columns_of(named, _COLUMNS), "observed_filename": seen})
    )
    hashes = list({row["hash"] for row in rows})
    engine.command(
        "INSERT INTO binary_tag SELECT family, name, "
        "transform(hash, {hashes:Array(String)}, {md5s:Array(String)}) AS hash, "
        "report, ioc, said, written FROM binary_tag "
        "WHERE binary_tag.hash IN {hashes:Array(String)}",
        {"hashes": hashes, "md5s": [known[digest] for digest in hashes]},
    )

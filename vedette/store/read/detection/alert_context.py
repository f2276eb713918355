"""Reads the values that alerts store about their processes and files, for many alerts at once."""

from collections.abc import Collection
from typing import Any, Final

from vedette.model.findings.alert import EVENT_COUNTS
from vedette.store.engine.client import Engine
from vedette.store.sql.column_lists import aggregated, quoted, readable

_NAMES: Final = (
    "hostname",
    "group",
    "os_type",
    "username",
    "path",
    "process_name",
    "cmdline",
    "process_md5",
    "process_sha256",
    "parent_name",
    "parent_cmdline",
)
_FACTS: Final = ", ".join(f"{aggregated(name)} AS `known_{name}`" for name in _NAMES)
_ADDRESSES: Final = ", ".join(
    f"{readable(f'max({name})', 'ip')} AS `known_{name}`" for name in ("comms_ip", "interface_ip")
)
_COUNTS: Final = ", ".join(f"sum({quoted(name)}) AS `known_{name}`" for name in EVENT_COUNTS)


def process_facts(engine: Engine, process_ids: Collection[str]) -> dict[str, dict[str, Any]]:
    """Maps process id to the metadata of the process's newest window and the counts of all its
    events. Unknown processes are missing."""
    if not process_ids:
        return {}
    params = {"ids": list(process_ids)}
    storage = engine.capabilities.storage("process")
    ended_by_shards = engine.capabilities.process_group_settings
    newest = (
        "SELECT arrayMax(groupArrayArray(windows)), sensor_id, process_id "
        f"FROM {storage} WHERE process_id IN {{ids:Array(String)}} GROUP BY sensor_id, process_id"
    )
    known = engine.query(
        f"SELECT process_id, {_FACTS}, {_ADDRESSES} FROM segment "
        f"WHERE (window_ms, sensor_id, process_id) IN ({newest}) GROUP BY process_id",
        params,
        settings={"distributed_product_mode": "local", **ended_by_shards},
    )
    counts = engine.query(
        f"SELECT process_id, {_COUNTS} FROM {engine.capabilities.by_process} "
        "WHERE process_id IN {ids:Array(String)} GROUP BY process_id",
        params,
        settings=ended_by_shards,
    )
    found = {row["process_id"]: row for row in known.dicts()}
    for row in counts.dicts():
        found.setdefault(row["process_id"], {}).update(row)
    return {
        process_id: {name.removeprefix("known_"): value for name, value in row.items()}
        for process_id, row in found.items()
    }


def hosts_by_file(engine: Engine, hashes: Collection[str]) -> dict[tuple[str, str], int]:
    """Maps (key of a file in `binary`, group) to the number of hosts of the group that reported the
    file."""
    if not hashes:
        return {}
    found = engine.query(
        "SELECT hash, `group`, uniqExact(sensor_id) FROM binary "
        "WHERE hash IN {hashes:Array(String)} GROUP BY hash, `group`",
        {"hashes": list(hashes)},
    )
    return {(row[0], row[1]): row[2] for row in found.rows}


def paths_of_files(
    engine: Engine, files: Collection[tuple[str, int]], paths_max: int
) -> dict[tuple[str, int], list[str]]:
    """Maps (key of a file in `binary`, sensor id) to the paths at which the sensor saw the file,
    sorted, at most `paths_max`."""
    if not files:
        return {}
    found = engine.query(
        "SELECT hash, sensor_id, "
        f"arraySlice(arraySort(groupUniqArrayArray(observed_filename)), 1, {paths_max:d}) "
        "FROM binary WHERE (hash, sensor_id) IN {files:Array(Tuple(String, UInt32))} "
        "GROUP BY hash, sensor_id",
        {"files": list(files)},
    )
    return {(row[0], row[1]): list(row[2]) for row in found.rows}

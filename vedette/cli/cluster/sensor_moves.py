"""`vedette cluster move`: moves sensors to another shard while servers run."""

from collections.abc import Sequence
from typing import Annotated

import typer

from vedette.cli.cluster.engines import administrator, cluster_settings, migrated_state
from vedette.cli.options import ConfigOption, DataOption, SetOption
from vedette.cluster import sensor_moves
from vedette.errors import BadRequestError
from vedette.model.host import ShardMap
from vedette.state.db.database import Database
from vedette.state.policy import groups
from vedette.state.sensors.host_registry import all_sensors
from vedette.state.sensors.sensor_shards import load_shard_map
from vedette.store.engine.shard_routing import shard_count


def move_sensors(
    to: Annotated[int, typer.Option("--to", metavar="SHARD", help="Target shard.")],
    sensor: Annotated[
        list[int] | None, typer.Option("--sensor", metavar="ID", help="Sensor id; repeatable.")
    ] = None,
    group: Annotated[str, typer.Option("--group", help="All sensors of this group.")] = "",
    source: Annotated[
        int, typer.Option("--from", metavar="SHARD", help="Only sensors of this shard.")
    ] = 0,
    at_most: Annotated[int, typer.Option("--at-most", help="Maximum number of sensors.")] = 0,
    data: DataOption = None,
    config: ConfigOption = None,
    assignments: SetOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the sensors that would move; change nothing.")
    ] = False,
) -> None:
    """Move sensors with all their telemetry to another shard. Servers go on: records of the
    sensors that are being copied are answered 503 for so long, and searches see every row once. A
    run that was interrupted is continued by the next, whatever that is asked for."""
    settings = cluster_settings(data, config, assignments)
    with administrator(settings) as engine, migrated_state(settings) as state:
        sensor_moves.check_movable(engine, state, shard_count(engine), to)
        known = load_shard_map(state)
        if known is None:
            raise BadRequestError("this server has no cluster yet: run `vedette cluster init`")
        chosen = _chosen(state, known, sensor or [], group, source)
        chosen = chosen[:at_most] if at_most else chosen
        if dry_run:
            for one in chosen:
                typer.echo(f"sensor {one}: shard {known.shard_of(one)} to shard {to}")
            return
        moved = sensor_moves.move(engine, state, chosen, to, typer.echo)
    typer.echo(f"moved {moved} sensors to shard {to}")


def _chosen(
    state: Database, known: ShardMap, sensors: Sequence[int], group: str, source: int
) -> list[int]:
    """Returns the selected sensors by number. Raises BadRequestError and NotFoundError."""
    if not (sensors or group or source):
        raise BadRequestError("specify sensors with --sensor, --group, or --from")
    found = all_sensors(state)
    for one in sensors:
        if one not in found:
            raise BadRequestError(f"sensor {one} not found")
    group_id = groups.named(state, group).id if group else 0
    return [
        one
        for one, ref in sorted(found.items())
        if (not sensors or one in sensors)
        and group_id in (0, ref.group_id)
        and source in (0, known.shard_of(one))
    ]

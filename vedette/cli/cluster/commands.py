"""`vedette cluster`: setup and growth of a ClickHouse cluster."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict
from typing import Annotated

import typer

from vedette.cli.cluster.engines import (
    administrator,
    cluster_settings,
    migrated_state,
    server_engine,
)
from vedette.cli.cluster.sensor_moves import move_sensors
from vedette.cli.cluster.sizing import plan_cluster, simulate_cluster
from vedette.cli.cluster.state_migration import migrate_state
from vedette.cli.doctor import print_findings
from vedette.cli.options import ConfigOption, DataOption, JsonOption, SetOption
from vedette.cli.printing import print_json
from vedette.clock import SystemClock
from vedette.cluster import migration, setup
from vedette.cluster.verify import verify as check_cluster
from vedette.doctor.finding import SEVERITIES, worst
from vedette.doctor.migration import PLAN_FILE
from vedette.errors import BadRequestError
from vedette.model.host import ShardView, first_map
from vedette.servers.joining import join_cluster, only_one_opens
from vedette.state.sensors.sensor_shards import begin_shard_map, load_shard_map
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.engine.open import database_of, open_engine
from vedette.store.engine.shard_routing import ShardRouter, shard_count
from vedette.store.schema.create import check_schema, create_tables
from vedette.store.schema.tables import SHARDED

app = typer.Typer(no_args_is_help=True)
app.command("migrate-state")(migrate_state)
app.command("plan")(plan_cluster)
app.command("simulate")(simulate_cluster)
app.command("move")(move_sensors)

DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Print all statements without running them.")
]


@app.callback()
def cluster() -> None:
    """A ClickHouse cluster for telemetry. VEDETTE_CLUSTER_ADMIN_DSN names an administrator of it,
    in the form of clickhouse_dsn."""


@app.command("init")
def init(
    data: DataOption = None,
    config: ConfigOption = None,
    assignments: SetOption = None,
    dry_run: DryRunOption = False,
    set_password: Annotated[
        bool, typer.Option("--set-password", help="Also set the password of an existing user.")
    ] = False,
) -> None:
    """Create the database, its user with exactly the required rights, and the tables. Can be
    repeated."""
    settings = cluster_settings(data, config, assignments)
    account = setup.account_of(settings.clickhouse_dsn)
    database = database_of(settings.clickhouse_dsn)
    # The database may not exist yet.
    opened_in = "default" if dry_run else database
    with (
        administrator(settings, creates=not dry_run, database=opened_in) as engine,
        migrated_state(settings) as state,
    ):
        shards = shard_count(engine)
        known = load_shard_map(state) or first_map(shards)
        engine.route_by(ShardRouter(lambda: ShardView(known), SHARDED))
        statements = setup.init_statements(account, database, engine.capabilities)
        if set_password:
            statements.append(setup.set_password(account, engine.capabilities))
        if dry_run:
            typer.echo(_script(database, statements))
            return
        begin_shard_map(state, shards)
        with only_one_opens(state):
            setup.run_init(engine, statements)
    typer.echo(f"the cluster is ready: {shards} shards; check it with `vedette cluster verify`")


def _script(database: str, statements: Sequence[setup.Statement]) -> str:
    first, *rest = map(str, statements)
    return ";\n\n".join((first, f"USE `{database}`", *rest)) + ";"


@app.command("add-shard")
def add_shard(
    data: DataOption = None,
    config: ConfigOption = None,
    assignments: SetOption = None,
    shared: Annotated[
        bool, typer.Option("--shared", help="Assign new sensors to all shards, not only new ones.")
    ] = False,
    dry_run: DryRunOption = False,
) -> None:
    """Assign new sensors to shards that were added to remote_servers. Known sensors stay on their
    shards."""
    settings = cluster_settings(data, config, assignments)
    with administrator(settings) as engine, migrated_state(settings) as state:
        addition = setup.plan_addition(engine, state, shared=shared)
        if dry_run:
            typer.echo(_script(engine.database, addition.statements(engine.capabilities)))
            return
        with only_one_opens(state):
            setup.run_addition(engine, state, addition)
    shards = ", ".join(map(str, addition.range.shards))
    typer.echo(f"sensors from number {addition.range.first_sensor_id} on go to shard {shards}")


@app.command("migrate")
def migrate(
    data: DataOption = None,
    config: ConfigOption = None,
    assignments: SetOption = None,
    without_unmounted: Annotated[
        bool, typer.Option("--without-unmounted", help="Skip unmounted partitions.")
    ] = False,
) -> None:
    """Copy the embedded telemetry of a stopped server to the cluster in its settings. Running the
    command again continues an interrupted run. Keeps the embedded store."""
    settings = cluster_settings(data, config, assignments)
    folder = settings.data / "telemetry"
    if not (folder / "clickhouse").is_dir():
        raise BadRequestError(f"no embedded store in {folder}")
    with (
        closing(open_engine(folder)) as source,
        server_engine(settings, creates=True) as target,
        migrated_state(settings) as state,
    ):
        check_schema(source)
        migration.check_source(source, without_unmounted=without_unmounted)
        with only_one_opens(state):
            join_cluster(target, state)
            create_tables(target)
        known = begin_shard_map(state, shard_count(target))
        units = migration.planned(source, known, settings.data)
        migration.check_target(source, target, units)
        _move(source, target, units)
        for name, found in migration.finish(source, target, units):
            typer.echo(f"{name}: {found.rows} rows, checksum {found.checksum:016x}: equal")
    (settings.data / PLAN_FILE).unlink()
    typer.echo(f"all telemetry is in the cluster; {folder} is no longer used")


@app.command("verify")
def verify(
    data: DataOption = None,
    config: ConfigOption = None,
    assignments: SetOption = None,
    away: Annotated[
        str,
        typer.Option(metavar="HOST", help="A server that you stopped, to verify failover."),
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """Check a cluster as its servers see it: quorum, versions, clocks, rights, schema, inserts on
    each shard, reads from each replica, totals, where sensors are. Writes to a table of its own
    alone, also while servers run. Exit code 0: nothing; 1: warnings; 2: errors."""
    settings = cluster_settings(data, config, assignments)
    with server_engine(settings) as engine, migrated_state(settings) as state:
        known = load_shard_map(state) or first_map(shard_count(engine))
        findings = check_cluster(
            engine, known, settings.clickhouse_quorum, SystemClock().now_us(), away=away
        )
    if as_json:
        print_json([asdict(one) for one in findings])
    else:
        print_findings(findings)
    raise typer.Exit(SEVERITIES.index(worst(findings)))


def _move(source: ClickHouseEngine, target: ClickHouseEngine, units: list[migration.Unit]) -> None:
    done, sent = 0, 0

    def note(unit: migration.Unit, was_sent: bool) -> None:
        nonlocal done, sent
        done, sent = done + 1, sent + was_sent
        typer.echo(f"{done}/{len(units)} {unit.table}" + ("" if was_sent else ": there already"))

    migration.move(source, target, units, note)
    typer.echo(f"{sent} of {len(units)} blocks were sent now")

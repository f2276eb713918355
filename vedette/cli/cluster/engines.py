"""Engines and settings for the commands about a cluster."""

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from vedette.cli.options import load_settings
from vedette.errors import BadRequestError, StartError
from vedette.settings import Settings
from vedette.state.db.database import Database, open_database
from vedette.state.start import migrate
from vedette.store.engine.capabilities import replicated
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.engine.open import connect_engine, database_of

ADMIN_VARIABLE: Final = "VEDETTE_CLUSTER_ADMIN_DSN"
"""Environment variable instead of an option, which would expose the password in the process
list."""


def cluster_settings(
    data: Path | None, config: Path | None, assignments: Sequence[str] | None
) -> Settings:
    """Loads the settings. Raises BadRequestError if they name no cluster."""
    settings = load_settings(data, config, assignments).settings
    if not settings.clickhouse_dsn:
        raise BadRequestError(
            "clickhouse_dsn is not set: it names the cluster (docs/operations-cluster.md)"
        )
    return settings


@contextmanager
def administrator(
    settings: Settings, *, creates: bool = False, database: str = ""
) -> Iterator[ClickHouseEngine]:
    """Connects to the cluster as its administrator, in the servers' database unless another is
    named. Raises BadRequestError if the environment variable is missing."""
    dsn = os.environ.get(ADMIN_VARIABLE, "")
    if not dsn:
        raise BadRequestError(
            f"{ADMIN_VARIABLE} is not set: it must be the DSN of a ClickHouse user who can create "
            "databases and users"
        )
    with ExitStack() as held:
        try:
            opened = _connected(dsn, settings, creates=creates, database=database)
            engine = held.enter_context(opened)
        except StartError as error:
            text = error.message.removeprefix("clickhouse_dsn: ")
            raise StartError(f"{ADMIN_VARIABLE}: {text}") from error
        yield engine


@contextmanager
def server_engine(settings: Settings, *, creates: bool = False) -> Iterator[ClickHouseEngine]:
    """Connects to the cluster as servers do."""
    with _connected(settings.clickhouse_dsn, settings, creates=creates) as engine:
        yield engine


@contextmanager
def _connected(
    dsn: str, settings: Settings, *, creates: bool = False, database: str = ""
) -> Iterator[ClickHouseEngine]:
    capabilities = replicated(settings.clickhouse_cluster, settings.clickhouse_quorum)
    name = database or database_of(settings.clickhouse_dsn)
    engine = connect_engine(dsn, capabilities, database=name, creates=creates)
    try:
        yield engine
    finally:
        engine.close()


@contextmanager
def migrated_state(settings: Settings) -> Iterator[Database]:
    """Opens the servers' state database; creates it or migrates it to this version."""
    settings.data.mkdir(mode=0o700, parents=True, exist_ok=True)
    state = open_database(settings.state_dsn, settings.data)
    try:
        migrate(state)
        yield state
    finally:
        state.close()

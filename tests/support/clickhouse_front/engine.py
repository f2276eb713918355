"""The engine behind the front: one chDB directory, a handle of its own for every request."""

import json
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import chdb

from tests.support.clickhouse_front.placement import (
    placed_filters,
    placed_insert,
    placed_sql,
    places_sql,
)
from tests.support.clickhouse_front.protocol import Request
from tests.support.clickhouse_front.statements import for_one_engine, format_of, insert_of, reads
from vedette.limits import STORE_PARTS_MERGED
from vedette.store.engine.grants import RIGHTS
from vedette.store.engine.open import ENGINE_CONFIG

CLUSTER: Final = "vedette"

_CONFIG: Final = """
    <listen_host>127.0.0.1</listen_host>
    <tcp_port>{port}</tcp_port>
    <macros><shard>1</shard><replica>1</replica></macros>
    <remote_servers><{cluster}>{shards}</{cluster}></remote_servers>
    <user_directories><users_xml><path>{users}</path></users_xml></user_directories>
"""
_SHARD: Final = (
    "<shard><internal_replication>true</internal_replication>"
    "<replica><host>{host}</host><port>{port}</port></replica>{more}</shard>"
)
_HOSTS: Final = ("127.0.0.1", "localhost", "Localhost", "LOCALHOST")
"""One machine by several names: the engine asks all replicas by name, each once."""
_ABSENT: Final = "<replica><host>127.0.0.9</host><port>9</port></replica>"
_USERS: Final = """<clickhouse>
    <profiles><default/></profiles><quotas><default/></quotas>
    <users><default>
        <password/><networks><ip>127.0.0.1</ip></networks>
        <profile>default</profile><quota>default</quota>{grants}
    </default></users>
</clickhouse>
"""
_OF_TESTS: Final = ("GRANT SELECT ON system.*", "GRANT TRUNCATE ON vedette.*", "GRANT READ ON FILE")
"""Grants that the tests need in addition to those of a server."""

_CODE: Final = re.compile(r"Code: (\d+)\.")


class EngineError(Exception):
    """Error of the engine. Its text begins with `Code: N. `."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        found = _CODE.search(text)
        self.text = text[found.start() :] if found else text
        self.code = int(found[1]) if found else 1000


@dataclass(frozen=True)
class Answer:
    """A whole result."""

    body: bytes
    format: str
    """"" for statements without rows."""
    summary: Mapping[str, str]


class FrontEngine:
    """Runs statements on the directory. Thread-safe."""

    def __init__(
        self,
        directory: Path,
        *,
        shards: int = 1,
        all_rights: bool = False,
        absent_replica: bool = False,
    ) -> None:
        """The user has the rights that a server is given on a cluster, or all. With
        `absent_replica` the last shard has a second replica, which never answers."""
        users = directory / "users.xml"
        users.write_text(_USERS.format(grants="" if all_rights else _grants()))
        port = 9000  # nobody listens there: the engine knows itself by it
        extra = _CONFIG.format(
            port=port,
            cluster=CLUSTER,
            users=users,
            shards=_shards(shards, port, _ABSENT if absent_replica else ""),
        )
        config = directory / "engine.xml"
        config.write_text(ENGINE_CONFIG.format(parts_merged=STORE_PARTS_MERGED, extra=extra))
        self._is_placed = shards > 1
        self._path = f"{directory / 'clickhouse'}?config-file={config}"
        # The engine lives as long as a handle is open.
        self._first = chdb.connect(self._path)

    def close(self) -> None:
        self._first.close()

    def run(self, request: Request) -> Answer:
        """Raises EngineError."""
        with self._handle(request) as handle:
            found = insert_of(request.statement)
            if found is None:
                sql = self._sql(request)
                kind = format_of(sql) or request.params.get("default_format", "TabSeparated")
                result = handle.query(sql, kind, params=request.bound)
                return Answer(result.bytes() or b"", kind if reads(sql) else "", _summary(result))
            shard = int(request.params.get("insert_shard_id", 0))
            if shard and self._is_placed:
                found = placed_insert(found, shard)
            with _file(found.rows) as path:
                result = handle.query(found.sql(path), "TabSeparated")
                return Answer(b"", "", _summary(result, written=True))

    def stream(self, request: Request) -> Iterator[bytes]:
        """The answer to a SELECT in Native format, block by block. Raises EngineError."""
        with self._handle(request) as handle:
            blocks = handle.send_query(self._sql(request), "Native", params=request.bound)
            try:
                for block in blocks:
                    yield block.bytes()
            finally:
                blocks.close()

    def placement(self) -> dict[str, object]:
        """The shard of every sensor; and sensors whose rows are on two."""
        result = self._first.query(places_sql("vedette"), "JSONCompact")
        rows = json.loads(result.bytes())["data"]
        return {
            "places": {str(sensor): shards[0] for sensor, shards in rows},
            "split": sorted(sensor for sensor, shards in rows if len(shards) > 1),
        }

    def _sql(self, request: Request) -> str:
        sql = for_one_engine(request.statement.decode())
        return placed_sql(sql) if self._is_placed else sql

    def _settings(self, request: Request) -> Iterator[str]:
        """Yields the assignments of a SET statement."""
        settings = request.settings
        if self._is_placed:
            asked = settings.get("additional_table_filters", "")
            database = request.params.get("database", "default")
            settings["additional_table_filters"] = placed_filters(asked, database)
        if settings:
            yield ", ".join(f"{name} = '{_quoted(one)}'" for name, one in settings.items())

    @contextmanager
    def _handle(self, request: Request) -> Iterator[Any]:
        """A handle with the database and settings of the request. Raises EngineError."""
        handle = chdb.connect(self._path)
        try:
            if database := request.params.get("database"):
                handle.query(f"USE `{database}`")
            for pairs in self._settings(request):
                handle.query(f"SET {pairs}")
            yield handle
        except RuntimeError as error:
            raise EngineError(str(error)) from error
        finally:
            handle.close()


def _shards(count: int, port: int, more: str) -> str:
    last = count - 1
    return "".join(
        _SHARD.format(port=port, host=host, more=more if place == last else "")
        for place, host in enumerate(_HOSTS[:count])
    )


def _grants() -> str:
    granted = [f"GRANT {right.sql('vedette')}" for right in RIGHTS]
    queries = "".join(f"<query>{one}</query>" for one in (*granted, *_OF_TESTS))
    return f"<grants>{queries}</grants>"


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")


@contextmanager
def _file(rows: bytes) -> Iterator[str]:
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.NamedTemporaryFile(dir=memory, prefix="vedette-front-", buffering=0) as file:
        file.write(rows)
        yield file.name


def _summary(result: Any, *, written: bool = False) -> dict[str, str]:
    verb = "written" if written else "read"
    return {
        f"{verb}_rows": str(result.rows_read()),
        f"{verb}_bytes": str(result.bytes_read()),
        "elapsed_ns": str(int(result.elapsed() * 1e9)),
    }

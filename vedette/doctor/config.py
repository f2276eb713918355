"""Checks of the settings against this machine, which find the errors that `vedette serve` would
find. They change nothing."""

import errno
import os
import socket
import ssl
from collections.abc import Iterator, Set
from contextlib import closing
from pathlib import Path
from typing import Final, get_args
from urllib.parse import parse_qsl, urlsplit

from vedette.doctor.files import check_certificate
from vedette.doctor.finding import Finding
from vedette.doctor.migration import unmoved_state, unmoved_telemetry
from vedette.errors import VedetteError
from vedette.limits import Limit
from vedette.settings import Loaded, Setting, Settings, catalogue
from vedette.state.db.database import open_database
from vedette.store.engine.capabilities import replicated
from vedette.store.engine.open import connect_engine

CONFIG_CONNECT_S: Limit[float] = 5.0
"""Seconds that `vedette config check` waits for a database to accept a connection."""


_FOLDERS: Final = frozenset({"data", "feed_files"})
_PORTS: Final = {"state_dsn": 5432, "clickhouse_dsn": 8123}


def check_config(
    loaded: Loaded, now_us: int, *, is_running: bool, wrong: Set[str] = frozenset()
) -> Iterator[Finding]:
    """Yields findings about the files, folders, port and databases that the settings name, except
    for the settings in `wrong`. `is_running` says that a server runs on this data directory and
    therefore uses the port."""
    settings = loaded.settings
    yield from _files(loaded, wrong)
    if "data" not in wrong:
        yield from _data(settings.data)
    if wrong.isdisjoint(("data", "http", "tls_cert", "tls_key")):
        yield from check_certificate(settings, now_us)
    if "tls_ciphers" not in wrong:
        yield from _ciphers(loaded)
    if not is_running and wrong.isdisjoint(("listen_host", "listen_port")):
        yield from _port(settings)
    for name, port in _PORTS.items():
        if name not in wrong:
            yield from _database(_named(loaded, name), getattr(settings, name), port)
    if wrong.isdisjoint(("data", "clickhouse_cluster", "clickhouse_quorum", *_PORTS)):
        yield from _unmoved(settings)


def _files(loaded: Loaded, wrong: Set[str]) -> Iterator[Finding]:
    settings = loaded.settings
    for setting in catalogue().values():
        path = getattr(settings, setting.name)
        if setting.name in wrong or setting.name in _FOLDERS or not isinstance(path, Path):
            continue
        if _is_file(setting):
            try:
                with path.open("rb"):
                    pass
            except OSError as error:
                text = f"{_named(loaded, setting.name)}: {path}: {error.strerror}"
                yield Finding(
                    "files",
                    "error",
                    text,
                    "name a file that this user can read, or leave the setting out",
                )
    folder = settings.feed_files
    if "feed_files" in wrong or folder is None:
        return
    if not os.access(folder, os.R_OK | os.X_OK):
        text = f"{_named(loaded, 'feed_files')}: {folder} is not a readable directory"
        yield Finding("files", "error", text, "make it, or leave the setting out")


def _named(loaded: Loaded, name: str) -> str:
    return loaded.origins[name].named(name)


def _is_file(setting: Setting) -> bool:
    return Path in (setting.type, *get_args(setting.type))


def _data(data: Path) -> Iterator[Finding]:
    """Whether the data directory can be written or created."""
    there = next(one for one in (data.absolute(), *data.absolute().parents) if one.exists())
    if not there.is_dir():
        yield Finding("data", "error", f"data: {there} is no directory", "name another")
    elif not os.access(there, os.W_OK | os.X_OK):
        yield Finding(
            "data",
            "error",
            f"data: {there} cannot be written by this user",
            f"chown it to the user that runs the server, or make {data} for it",
        )
    else:
        yield Finding("data", "ok", f"data: {data} can be {'written' if data.exists() else 'made'}")


def _ciphers(loaded: Loaded) -> Iterator[Finding]:
    settings = loaded.settings
    if not settings.tls_ciphers:
        return
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).set_ciphers(settings.tls_ciphers)
    except ssl.SSLError:
        text = f"{_named(loaded, 'tls_ciphers')}: {settings.tls_ciphers!r} names no cipher"
        yield Finding(
            "tls", "error", text, "try it with `openssl ciphers`, or leave the setting out"
        )


def _port(settings: Settings) -> Iterator[Finding]:
    """Whether the server could listen on its address and port now."""
    host, port = settings.listen_host, settings.listen_port
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, kind, protocol) as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
    except OSError as error:
        text = f"listen_host, listen_port: {host} port {port}: {error.strerror}"
        yield Finding("port", "error", text, _remedy(error))
    else:
        yield Finding("port", "ok", f"{host} port {port} is free")


def _remedy(error: OSError) -> str:
    match error.errno:
        case errno.EADDRINUSE:
            return "end the program that has it (ss -ltnp), or set another listen_port"
        case errno.EACCES:
            return "set a listen_port above 1023, or put a proxy before it"
        case _:
            return "set listen_host to an address of this machine, or 0.0.0.0"


def _database(name: str, dsn: str, default_port: int) -> Iterator[Finding]:
    """Whether something listens at a database's address. The password is not shown."""
    if not dsn:
        return
    try:
        where = urlsplit(dsn)
        asked = dict(parse_qsl(where.query))
        host = where.hostname or asked.get("host", "localhost")
        port = where.port or int(asked.get("port", default_port))
    except ValueError:
        yield Finding("databases", "error", f"{name}: is not a URL", "see the reference")
        return
    try:
        _connect(host, port)
    except OSError as error:
        yield Finding(
            "databases",
            "error",
            f"{name}: {host} port {port}: {error}",
            "start the database, or mend name, port and firewall",
        )
    else:
        yield Finding("databases", "ok", f"{name}: {host} port {port} answers")


def _connect(host: str, port: int) -> None:
    """Opens and closes a connection. A host that is a directory contains PostgreSQL's socket."""
    if not host.startswith("/"):
        socket.create_connection((host, port), CONFIG_CONNECT_S).close()
        return
    with socket.socket(socket.AF_UNIX) as local:
        local.settimeout(CONFIG_CONNECT_S)
        local.connect(f"{host}/.s.PGSQL.{port}")


def _unmoved(settings: Settings) -> Iterator[Finding]:
    """Whether a server would refuse to start with empty databases because of the data that it kept
    here."""
    for name, old, refusal in (
        ("state_dsn", "state.db", _unmoved_state),
        ("clickhouse_dsn", "telemetry", _unmoved_telemetry),
    ):
        if not getattr(settings, name) or not (settings.data / old).exists():
            continue
        try:
            text = refusal(settings)
        except VedetteError as error:
            yield Finding("unmoved", "error", f"{name}: {error}", "mend what it says")
            continue
        if text:
            yield Finding("unmoved", "error", f"{name}: {text}", "do one of the two")


def _unmoved_state(settings: Settings) -> str | None:
    with closing(open_database(settings.state_dsn, settings.data)) as state:
        return unmoved_state(settings.data, state)


def _unmoved_telemetry(settings: Settings) -> str | None:
    capabilities = replicated(settings.clickhouse_cluster, settings.clickhouse_quorum)
    dsn = settings.clickhouse_dsn
    with closing(connect_engine(dsn, capabilities, creates=False)) as telemetry:
        return unmoved_telemetry(settings.data, telemetry)

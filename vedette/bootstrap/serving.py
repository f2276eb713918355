"""Runs the HTTPS server until SIGTERM or SIGINT.

Shutdown is graceful: the server accepts no new connections, answers current requests (which stores
their telemetry), then closes the write path and the engines.
"""

import asyncio
import errno
import gc
import ipaddress
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import structlog
import uvicorn

import vedette
from vedette.bootstrap.acceptor import Acceptor
from vedette.bootstrap.assembly import assemble
from vedette.bootstrap.certificate import Certificate, certificate
from vedette.bootstrap.descriptors import raise_descriptor_limit, socket_limits
from vedette.bootstrap.event_loop import (
    collect_garbage,
    prefer_this_thread,
    share_interpreter_lock,
    start_threads,
)
from vedette.bootstrap.http_protocol import BoundedHttpProtocol
from vedette.bootstrap.local_access import LocalAccess, LocalTokens, remove_access, write_access
from vedette.bootstrap.logs import queued_logs
from vedette.bootstrap.memory.malloc_tuning import grow_without_copies
from vedette.bootstrap.memory.start_memory import release_start_memory
from vedette.bootstrap.tls import CertificateReload, tls_context
from vedette.clock import Clock, SystemClock
from vedette.errors import StartError
from vedette.jobs.timer import Job, Timer
from vedette.limits import Limit
from vedette.settings import Loaded, Settings
from vedette.state.db.author import Author
from vedette.state.jobs.leases import Leases
from vedette.state.start import FirstCredentials
from vedette.web.http.client_address import is_proxy

KEEP_ALIVE_S: Limit[int] = 75
"""Time (s) for which a connection without a request stays open: longer than load balancers keep
theirs (60 s), so that they never send a request into a closing connection."""

SHUTDOWN_S: Limit[int] = 60
"""Time (s) for current requests to finish after the signal to stop."""

SHUTDOWN_IDLE_CLOSE_S: Limit[float] = 0.5
"""Time (s) for an idle connection to close by itself at shutdown."""

LISTEN_BACKLOG: Limit[int] = 4_096
"""Connections that wait to be accepted; the kernel may allow fewer (`net.core.somaxconn`). A client
whose connection does not fit retries after 1, 3 and 7 seconds."""

LOCAL_TOKENS_RENEWED_S: Limit[int] = 60
"""Interval (s) for checking the tokens in `server.json`. After their administrator is disabled,
commands on the machine may be refused for that time."""

CERTIFICATE_LOOK_S: Limit[float] = 5.0
"""Interval (s) for checking the certificate files for changes; SIGHUP checks at once."""


_DAY_US = 24 * 3600 * 1_000_000

log = structlog.get_logger(__name__)


class _Server(uvicorn.Server):
    """Writes `server.json` when it listens, and closes idle connections at shutdown."""

    def __init__(
        self,
        config: uvicorn.Config,
        listener: socket.socket,
        settings: Settings,
        access: LocalAccess,
    ) -> None:
        super().__init__(config)
        self._data = settings.data
        self._access = access
        announcing = settings.trusted_proxies if settings.proxy_protocol else ()
        self.acceptor = Acceptor(
            listener,
            config.ssl,
            self._new_protocol,
            socket_limits(),
            lambda address: is_proxy(address, announcing),
        )
        self.reload: Callable[[], object] = _nothing_to_reload
        """Action of SIGHUP, run in a separate thread."""

    def _new_protocol(self) -> BoundedHttpProtocol:
        return BoundedHttpProtocol(
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            await start_threads()
            self.acceptor.start()
            write_access(self._data, self._access)
            threading.Thread(target=release_start_memory, name="start memory", daemon=True).start()
            log.info("listening", url=self._access.url, version=vedette.__version__)

    async def on_tick(self, counter: int) -> bool:
        collect_garbage(counter)
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Answers current requests, then aborts idle connections: a TLS peer that does not close
        its side could delay the shutdown by half a minute."""
        await self.acceptor.close()
        closing = asyncio.create_task(self._close_idle())
        try:
            await super().shutdown(sockets)
        finally:
            closing.cancel()

    async def _close_idle(self) -> None:
        while True:
            await asyncio.sleep(SHUTDOWN_IDLE_CLOSE_S)
            for connection in list(self.server_state.connections):
                cycle = getattr(connection, "cycle", None)
                transport = getattr(connection, "transport", None)
                if transport is not None and (cycle is None or cycle.response_complete):
                    transport.abort()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handles stop signals until everything is closed. uvicorn raises them again after
        stopping, which would end the process at once."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, _closing)
        signal.signal(signal.SIGHUP, self._reload_soon)
        with super().capture_signals():
            yield

    def _reload_soon(self, _number: int, _frame: object) -> None:
        threading.Thread(target=self.reload, name="reload", daemon=True).start()


def _nothing_to_reload() -> None:
    log.info("nothing to reload: this server has no certificate")


def _closing(_number: int, _frame: object) -> None:
    """Ignores the signal: the server is already closing."""


def serve(loaded: Loaded, clock: Clock | None = None, *, accepted_by: Author | None = None) -> None:
    """Runs until SIGTERM or SIGINT. Raises StartError if the server cannot start. `accepted_by`
    permits a start on a state database and telemetry that do not belong together."""
    with queued_logs(loaded.settings.log_level, loaded.settings.log_format):
        _serve(loaded, clock or SystemClock(), accepted_by)


def _serve(loaded: Loaded, clock: Clock, accepted_by: Author | None) -> None:
    settings = loaded.settings
    _check_plain_http(settings)
    share_interpreter_lock()
    grow_without_copies()
    raise_descriptor_limit()
    listener = _listen(settings)
    url = _url(settings, listener)
    assembly = assemble(loaded, clock, accepted_by=accepted_by, url=settings.server_url or url)
    with listener, assembly.closing:
        pair = None if settings.http else certificate(settings, clock.now_us())
        lifetime_us = settings.token_lifetime_days * _DAY_US
        tokens = LocalTokens(assembly.database, clock.now_us(), lifetime_us, settings.data)
        assembly.services.approved_addresses.own_tokens = tokens.api_ids
        access = _local_access(url, pair, tokens)
        if assembly.first_credentials is not None:
            _print_once(assembly.first_credentials, access.url, pair)
        # Existing objects live until the end, so the collector can skip them. From here on the
        # event loop collects garbage.
        gc.collect()
        gc.freeze()
        gc.disable()
        server = _Server(_config(assembly.app, settings, pair), listener, settings, access)
        jobs = [_renewal(settings.data, clock, tokens, access)]
        if pair is not None:
            reload = CertificateReload(
                settings, pair, server.acceptor.use, assembly.services.presented
            )
            server.reload = reload.reload
            jobs.append(_reloading(reload))
        renewal = Timer(jobs, Leases(assembly.database, clock))
        renewal.start()
        try:
            prefer_this_thread()
            server.run(sockets=[])  # the acceptor replaces the event loop's own server
        finally:
            renewal.close()
            remove_access(settings.data)
            tokens.close(clock.now_us())
    log.info("stopped")


def _local_access(url: str, pair: Certificate | None, tokens: LocalTokens) -> LocalAccess:
    return LocalAccess(url, tokens.api, tokens.ingest, _path(pair), os.getpid())


def _renewal(data: Path, clock: Clock, tokens: LocalTokens, access: LocalAccess) -> Job:
    """Returns the job that keeps the tokens of `server.json` valid while the server runs."""

    def renew() -> None:
        if tokens.renew(clock.now_us()):
            write_access(data, replace(access, token=tokens.api, ingest_token=tokens.ingest))

    return Job("local access", LOCAL_TOKENS_RENEWED_S, False, "renew local tokens", renew)


def _reloading(reload: CertificateReload) -> Job:
    what = "take a changed certificate into use"
    return Job("certificate", CERTIFICATE_LOOK_S, False, what, reload.reload_changed)


def _config(app: object, settings: Settings, pair: Certificate | None) -> uvicorn.Config:
    config = uvicorn.Config(
        app,  # type: ignore[arg-type]
        loop="uvloop",
        http=BoundedHttpProtocol,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=True,
        # Proxy headers are read from trusted proxies only (web/http/client_address.py); uvicorn by
        # itself would accept them from any program on this machine.
        proxy_headers=False,
        timeout_graceful_shutdown=SHUTDOWN_S,
        timeout_keep_alive=KEEP_ALIVE_S,
        ssl_certfile=None if pair is None else str(pair.cert),
        ssl_keyfile=None if pair is None else str(pair.key),
    )
    config.load()
    config.ssl = None if pair is None else tls_context(settings, pair)
    return config


def _check_plain_http(settings: Settings) -> None:
    if settings.http and not settings.http_anywhere and not _is_loopback(settings.listen_host):
        raise StartError(
            f"plain HTTP on {settings.listen_host} would show every token to the network: use "
            "HTTPS, listen on 127.0.0.1, or set http_anywhere behind a proxy that ends TLS"
        )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _listen(settings: Settings) -> socket.socket:
    host, port = settings.listen_host, settings.listen_port
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        is_taken = error.errno == errno.EADDRINUSE
        hint = ": stop what listens there, or choose another port with --port" if is_taken else ""
        why = f"cannot listen on {host} port {port}: {error.strerror}{hint}"
        raise StartError(why) from None
    listener.listen(LISTEN_BACKLOG)
    return listener


def _url(settings: Settings, listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - read, not bound
    shown = f"[{host}]" if ":" in host else host
    return f"{'http' if settings.http else 'https'}://{shown}:{port}"


def _path(pair: Certificate | None) -> str:
    return "" if pair is None else str(pair.cert.resolve())


def _print_once(credentials: FirstCredentials, url: str, pair: Certificate | None) -> None:
    lines = [
        "",
        "  This server is new. The following is shown once and kept nowhere:",
        "",
        f"    address         {url}",
        f"    console         {url}/ui/",
        f"    user            {credentials.username}",
        f"    password        {credentials.password}",
        f"    API token       {credentials.api_token.secret}",
        f"    ingest token    {credentials.ingest_token.id}:{credentials.ingest_token.secret}",
    ]
    if pair is not None:
        lines += [
            f"    certificate     {pair.cert}",
            f"    SHA-256         {pair.fingerprint}",
        ]
    print("\n".join([*lines, ""]), flush=True)

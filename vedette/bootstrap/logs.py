"""Logging to standard error, one event per line: JSON, or colored text on a terminal.

`structlog.get_logger()` and the standard library's loggers (uvicorn, alembic) have the same format.
Values bound with `structlog.contextvars.bind_contextvars(request_id=...)` appear on every line of
the request. Values under names of secrets are masked at any depth.

`queued_logs` is for servers: a separate thread writes the lines, so that a hanging disk or pipe
blocks no request. Lines above `LOG_WAITING_CHARS_MAX` are dropped and counted.
"""

import logging
import sys
import threading
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from typing import Any, Protocol

import structlog
from structlog.typing import Processor

from vedette.limits import Limit
from vedette.settings.catalogue import LogFormat, LogLevel

LOG_WAITING_CHARS_MAX: Limit[int] = 4 * 1024**2
"""Characters of log lines that wait for a slow disk or reader: about ten thousand lines. Further
lines are dropped, so that requests do not wait."""

LOG_CLOSE_S: Limit[float] = 5.0
"""Time (s) for which a stopping server waits until its last log lines are written."""

LOG_DEPTH_MAX: Limit[int] = 8
"""Nesting levels of values in the log; deeper levels are omitted."""


log = structlog.get_logger(__name__)

SECRET_NAMES = frozenset(
    ("token", "secret", "password", "authorization", "api_key", "private_key", "cookie", "csrf")
)
"""Also matches names that end with one of them after a separator: `client_secret`, `Set-Cookie`."""

_ENDINGS = tuple(f"_{name}" for name in sorted(SECRET_NAMES))
_MASK = "***"

_QUIET = ("uvicorn.access", "alembic", "httpx", "httpcore", "asyncio")
"""Loggers with a line per request or step; only warnings pass."""


class Stream(Protocol):
    """Destination of log lines."""

    def write(self, text: str, /) -> object: ...

    def flush(self) -> object: ...

    def isatty(self) -> bool: ...


@contextmanager
def queued_logs(level: LogLevel, form: LogFormat) -> Iterator[None]:
    """Writes all logs through a thread until the block ends, then directly again."""
    queue = QueuedStream(sys.stderr)
    configure_logs(level, form, queue)
    try:
        yield
    finally:
        configure_logs(level, form)
        queue.close()


class QueuedStream:
    """Writes to another stream in a separate thread. Lines that arrive faster are kept in memory up
    to a limit, then dropped; a later log line states their number."""

    def __init__(self, target: Stream, chars_max: int = LOG_WAITING_CHARS_MAX) -> None:
        self._target = target
        self._chars_max = chars_max
        self._changed = threading.Condition()
        self._waiting: list[str] = []
        self._chars = 0
        self.lost = 0
        """Dropped lines that are not reported yet."""
        self._is_closed = False
        self._thread = threading.Thread(target=self._work, name="log", daemon=True)
        self._thread.start()

    def write(self, text: str, /) -> int:
        with self._changed:
            is_full = self._chars + len(text) > self._chars_max or self._is_closed
            if is_full and threading.current_thread() is not self._thread:  # which reports losses
                self.lost += 1
            else:
                self._waiting.append(text)
                self._chars += len(text)
                self._changed.notify()
        return len(text)

    def flush(self) -> None:
        """Does nothing: the thread flushes its own writes."""

    def isatty(self) -> bool:
        return self._target.isatty()

    def close(self) -> None:
        """Waits until all lines are written, at most `LOG_CLOSE_S`."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        self._thread.join(LOG_CLOSE_S)
        self._report_losses()

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._is_closed)
                if not self._waiting:
                    return
                lines, self._waiting, self._chars = self._waiting, [], 0
            try:
                self._target.write("".join(lines))
                self._target.flush()
            except (OSError, ValueError):  # full disk, or closed reader
                with self._changed:
                    self.lost += len(lines)
            else:
                self._report_losses()

    def _report_losses(self) -> None:
        with self._changed:
            lost, self.lost = self.lost, 0
        if lost:
            log.warning("log lines lost: the log consumer is too slow", lines=lost)


def configure_logs(level: LogLevel, form: LogFormat, stream: Stream | None = None) -> None:
    """Writes all logs to `stream` (None: standard error). May be called again."""
    target: Stream = sys.stderr if stream is None else stream
    threshold = getattr(logging, level.upper())
    shared = _common_processors()
    handler = logging.StreamHandler(target)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                *_renderers(form, target),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(threshold)
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        logging.getLogger(name).handlers = []
        logging.getLogger(name).propagate = True
    for name in _QUIET:
        logging.getLogger(name).setLevel(max(threshold, logging.WARNING))
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )


def _common_processors() -> list[Processor]:
    return [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.PositionalArgumentsFormatter(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
        _hide_secrets,
    ]


def _renderers(form: LogFormat, stream: Stream) -> list[Processor]:
    is_console = form == "console" or (form == "auto" and stream.isatty())
    if is_console:
        # The default formatter shows values of variables, which nothing masks.
        plain = structlog.dev.plain_traceback
        return [structlog.dev.ConsoleRenderer(colors=stream.isatty(), exception_formatter=plain)]
    return [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]


def _hide_secrets(
    _logger: Any, _method: str, line: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    for name, value in line.items():
        line[name] = _MASK if _names_secret(name) else _without_secrets(value)
    return line


def _without_secrets(value: Any, depth: int = 0) -> Any:
    """Returns a masked copy; the caller continues to use the original."""
    if not isinstance(value, Mapping | list | tuple | set | frozenset):
        return value
    if depth == LOG_DEPTH_MAX:
        return "…"
    if isinstance(value, Mapping):
        return {
            name: _MASK if _names_secret(name) else _without_secrets(one, depth + 1)
            for name, one in value.items()
        }
    if isinstance(value, tuple) and len(value) == 2 and _names_secret(value[0]):  # a header
        return (value[0], _MASK)
    return [_without_secrets(one, depth + 1) for one in value]


def _names_secret(name: object) -> bool:
    text = name.decode("latin-1") if isinstance(name, bytes) else str(name)
    plain = text.lower().replace("-", "_")
    return plain in SECRET_NAMES or plain.endswith(_ENDINGS)

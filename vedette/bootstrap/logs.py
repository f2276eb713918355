"""Logging to standard error, one event per line: JSON, or coloured text on a terminal.

`structlog.get_logger()` and the standard library's loggers (uvicorn, alembic) have the same format.
Values bound with `structlog.contextvars.bind_contextvars(request_id=...)` are on every line of the
request. Values under the names of secrets are masked.
"""

import logging
import sys
from collections.abc import MutableMapping
from typing import Any, TextIO

import structlog
from structlog.typing import Processor

from vedette.settings.catalogue import LogFormat, LogLevel

SECRET_NAMES = frozenset(
    ("token", "secret", "password", "authorization", "x_auth_token", "api_key", "cookie")
)

_QUIET = ("uvicorn.access", "alembic", "httpx", "httpcore", "asyncio")
"""Loggers with a line per request or step, of which only warnings are kept."""


def configure_logs(level: LogLevel, form: LogFormat, stream: TextIO | None = None) -> None:
    """Routes all logging to `stream` (standard error when None). May be called again."""
    target = sys.stderr if stream is None else stream
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


def _renderers(form: LogFormat, stream: TextIO) -> list[Processor]:
    is_console = form == "console" or (form == "auto" and stream.isatty())
    if is_console:
        return [structlog.dev.ConsoleRenderer(colors=stream.isatty())]
    return [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]


def _hide_secrets(
    _logger: Any, _method: str, line: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    for name in line:
        if name.lower().replace("-", "_") in SECRET_NAMES:
            line[name] = "***"
    return line

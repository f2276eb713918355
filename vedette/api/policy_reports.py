"""What browsers report of the console's content security policy: our own mistakes, and markup that
somebody tried to have run. Anybody can send one, so nothing of it is believed, and little kept."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final
from urllib.parse import urlsplit

import structlog
from prometheus_client import CollectorRegistry, Counter

from vedette import limits
from vedette.api.request_rates import RequestRates

log = structlog.get_logger(__name__)

_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "directive": ("effectiveDirective", "effective-directive", "violated-directive"),
    "blocked": ("blockedURL", "blocked-uri"),
    "page": ("documentURL", "document-uri"),
    "source": ("sourceFile", "source-file"),
    "line": ("lineNumber", "line-number"),
}
"""By the name in our log, those of the Reporting API and of Content Security Policy 2."""


class PolicyReports:
    """Counts and logs them. Thread-safe. The metric is registered with `registry`."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._rates = RequestRates()
        self._reports = Counter(
            "vedette_csp_reports",
            "Violations of the console's content security policy that browsers reported.",
            ["outcome"],
            registry=registry,
        )
        for outcome in ("logged", "refused"):
            self._reports.labels(outcome)

    def admit(self, address: str, now_us: int) -> bool:
        """Whether one more request is read: so many of an address and of all in a minute."""
        of_one, of_all = limits.CSP_REPORTS_OF_ADDRESS_MAX, limits.CSP_REPORTS_MAX
        is_read = self._rates.take(f"of {address}", of_one, now_us) and self._rates.take(
            "of all", of_all, now_us
        )
        if not is_read:
            self._reports.labels("refused").inc()
        return is_read

    def log(self, body: object, address: str) -> None:
        """The violations of a body of either form; the first ones of many."""
        for one in islice(_violations(body), limits.CSP_VIOLATIONS_OF_REPORT_MAX):
            self._reports.labels("logged").inc()
            log.warning("the browser refused part of a page", address=address, **one)


def _violations(body: object) -> Iterator[dict[str, str]]:
    for one in body if isinstance(body, list) else [body]:
        if isinstance(one, dict):
            found = one.get("body", one.get("csp-report"))
            if isinstance(found, dict):
                yield _described(found)


def _described(violation: Mapping[str, Any]) -> dict[str, str]:
    found = {}
    for name, others in _NAMES.items():
        text = next((str(violation[one]) for one in others if violation.get(one)), "")
        text = _without_secrets(text) if name in ("blocked", "page", "source") else text
        if text:
            found[name] = text[: limits.CSP_REPORT_VALUE_CHARS_MAX]
    return found


def _without_secrets(address: str) -> str:
    """Host and screen. Queries are secrets, and so are links that sign in."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return ""
    if not parts.netloc:
        return parts.path if "/" not in parts.path else ""  # "inline", "eval"
    return f"{parts.netloc.rpartition('@')[2]}{'/'.join(parts.path.split('/')[:3])}"

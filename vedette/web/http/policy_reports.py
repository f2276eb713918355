"""Content security policy reports that browsers send: mistakes in the console, and injected markup.
Anybody can send a report, so the server trusts nothing in it and logs little."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final
from urllib.parse import urlsplit

import structlog
from prometheus_client import CollectorRegistry, Counter

from vedette.limits import Limit
from vedette.web.http.request_rates import RequestRates

CSP_REPORTS_OF_ADDRESS_MAX: Limit[int] = 30
"""Reports per address and minute. A page with many violations sends several."""

CSP_REPORTS_MAX: Limit[int] = 300
"""Reports per minute from all addresses: anybody can send them, and each is logged."""

CSP_VIOLATIONS_OF_REPORT_MAX: Limit[int] = 10
"""Violations of a report that are logged."""

CSP_REPORT_VALUE_CHARS_MAX: Limit[int] = 200
"""Characters logged of each value in a report."""


log = structlog.get_logger(__name__)

_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "directive": ("effectiveDirective", "effective-directive", "violated-directive"),
    "blocked": ("blockedURL", "blocked-uri"),
    "page": ("documentURL", "document-uri"),
    "source": ("sourceFile", "source-file"),
    "line": ("lineNumber", "line-number"),
}
"""Maps our name in the log to the names in the Reporting API and in Content Security Policy 2."""


class PolicyReports:
    """Counts and logs reports. Thread-safe. Registers its metric with `registry`."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._rates = RequestRates()
        self._reports = Counter(
            "vedette_csp_reports",
            "Content security policy violations reported by browsers.",
            ["outcome"],
            registry=registry,
        )
        for outcome in ("logged", "refused"):
            self._reports.labels(outcome)

    def admit(self, address: str, now_us: int) -> bool:
        """Returns whether the server reads another request, within the limits per address and in
        total."""
        of_one, of_all = CSP_REPORTS_OF_ADDRESS_MAX, CSP_REPORTS_MAX
        is_read = self._rates.take(f"of {address}", of_one, now_us) and self._rates.take(
            "of all", of_all, now_us
        )
        if not is_read:
            self._reports.labels("refused").inc()
        return is_read

    def log(self, body: object, address: str) -> None:
        """Logs the first violations of a report body in either format."""
        for one in islice(_violations(body), CSP_VIOLATIONS_OF_REPORT_MAX):
            self._reports.labels("logged").inc()
            log.warning("the browser blocked part of a page", address=address, **one)


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
            found[name] = text[:CSP_REPORT_VALUE_CHARS_MAX]
    return found


def _without_secrets(address: str) -> str:
    """Returns the host and the first path segments of an address. The query and the rest of the
    path may contain secrets, such as sign-in links."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return ""
    if not parts.netloc:
        return parts.path if "/" not in parts.path else ""  # "inline", "eval"
    return f"{parts.netloc.rpartition('@')[2]}{'/'.join(parts.path.split('/')[:3])}"

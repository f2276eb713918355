"""Caches the metadata and keys of providers for an hour.

If a token names an unknown key, the keys are read again, at most once in `PROVIDER_KEYS_REREAD_S`.
A provider that failed is not asked again for `PROVIDER_FAILURE_S`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import TypeVar

from vedette.clock import Clock
from vedette.limits import Limit
from vedette.notify.http_post import PostRules
from vedette.oidc.exchange import ProviderError, fetch_json
from vedette.oidc.id_token import PublicKey, public_keys
from vedette.oidc.metadata import Metadata, metadata_url, parse_metadata

PROVIDER_DOCUMENTS_S: Limit[int] = 3600
"""Seconds for which the metadata and keys of a provider are used before they are read again."""

PROVIDER_FAILURE_S: Limit[int] = 5
"""Seconds for which a provider that failed is not asked again, so that a page that is loaded again
and again does not hold a thread each time."""

PROVIDER_KEYS_REREAD_S: Limit[int] = 10
"""Seconds between two reads of keys because of a token with an unknown key, at least. Anybody can
send such a token."""


_SECOND_US = 1_000_000

T = TypeVar("T")


@dataclass(slots=True)
class _Known:
    """The data and failures of one issuer. Times are elapsed microseconds."""

    metadata: Metadata | None = None
    metadata_us: int = 0
    keys: tuple[PublicKey, ...] = ()
    keys_us: int = 0
    reread_us: int | None = None
    failed_us: int = 0
    failure: ProviderError | None = None


class ProviderDocuments:
    """The metadata and keys of all providers. Safe to share between threads; reading blocks for up
    to `PROVIDER_TOTAL_S`."""

    def __init__(self, rules: PostRules, clock: Clock) -> None:
        self.rules = rules
        self._clock = clock
        self._lock = Lock()
        self._known: dict[str, _Known] = {}

    def metadata(self, issuer: str) -> Metadata:
        """Returns the metadata of a provider. Raises ProviderError."""
        known, now_us = self._of(issuer), self._clock.elapsed_us()
        if known.metadata is None or _is_older(known.metadata_us, PROVIDER_DOCUMENTS_S, now_us):
            known.metadata = self._asked(known, lambda: self._read_metadata(issuer))
            known.metadata_us = now_us
        return known.metadata

    def keys(self, issuer: str, *, reread: bool = False) -> tuple[PublicKey, ...]:
        """Returns the keys of a provider. `reread` asks for them again because a token names an
        unknown key. Raises ProviderError."""
        address = self.metadata(issuer).jwks_uri
        known, now_us = self._of(issuer), self._clock.elapsed_us()
        is_due = not known.keys or _is_older(known.keys_us, PROVIDER_DOCUMENTS_S, now_us)
        if reread and not is_due:
            with self._lock:
                is_due = known.reread_us is None or _is_older(
                    known.reread_us, PROVIDER_KEYS_REREAD_S, now_us
                )
                known.reread_us = now_us if is_due else known.reread_us
        if is_due:
            found = self._asked(known, lambda: fetch_json(address, self.rules))
            known.keys, known.keys_us = public_keys(found), now_us
        return known.keys

    def _read_metadata(self, issuer: str) -> Metadata:
        return parse_metadata(fetch_json(metadata_url(issuer), self.rules), issuer)

    def _of(self, issuer: str) -> _Known:
        with self._lock:
            return self._known.setdefault(issuer, _Known())

    def _asked(self, known: _Known, fetch: Callable[[], T]) -> T:
        """Returns the answer. Raises the last failure again if it is recent."""
        now_us = self._clock.elapsed_us()
        if known.failure and not _is_older(known.failed_us, PROVIDER_FAILURE_S, now_us):
            raise ProviderError(known.failure.message)
        try:
            return fetch()
        except ProviderError as error:
            known.failed_us, known.failure = self._clock.elapsed_us(), error
            raise


def _is_older(then_us: int, seconds: int, now_us: int) -> bool:
    return now_us - then_us >= seconds * _SECOND_US

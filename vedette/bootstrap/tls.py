"""TLS of the server: versions, ciphers, and replacement of the certificate at run time."""

import ssl
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

import structlog

from vedette.bootstrap.certificate import Certificate, load_pair
from vedette.errors import StartError
from vedette.settings import Settings
from vedette.web.http.server_certificate import PresentedCertificate

log = structlog.get_logger(__name__)

_VERSIONS: Final = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}

_Signature = tuple[tuple[int, int, int], ...]


def tls_context(settings: Settings, pair: Certificate) -> ssl.SSLContext:
    """Returns a context for client connections. Raises StartError for invalid ciphers."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = _VERSIONS[settings.tls_min_version]
    context.options |= ssl.OP_NO_RENEGOTIATION
    try:
        if settings.tls_ciphers:
            context.set_ciphers(settings.tls_ciphers)
    except ssl.SSLError:
        raise StartError(f"tls_ciphers: OpenSSL knows none of {settings.tls_ciphers!r}") from None
    try:
        context.load_cert_chain(pair.cert, pair.key)
    except (ssl.SSLError, OSError) as error:
        raise StartError(f"{pair.cert}, {pair.key}: {error}") from None
    return context


class CertificateReload:
    """Loads a changed certificate, when its files change or on request.

    Files that are not a pair, as between the two steps of a renewal, change nothing: the previous
    certificate stays. Safe to call from any thread.
    """

    def __init__(
        self,
        settings: Settings,
        pair: Certificate,
        use: Callable[[ssl.SSLContext], None],
        presented: PresentedCertificate,
    ) -> None:
        self._settings = settings
        self._pair = pair
        self._use = use
        self._presented = presented
        presented.facts = pair.facts
        self._seen = _signature(pair.cert, pair.key)
        self._fingerprint = pair.fingerprint
        self._lock = threading.Lock()

    def reload_changed(self) -> bool:
        """Reloads if the files have changed since the last check. Returns whether it did."""
        with self._lock:
            found = _signature(self._pair.cert, self._pair.key)
            if found == self._seen:
                return False
            self._seen = found
            return self._reload()

    def reload(self) -> bool:
        """Reloads in any case. Returns False if the files are unusable."""
        with self._lock:
            self._seen = _signature(self._pair.cert, self._pair.key)
            return self._reload()

    def _reload(self) -> bool:
        try:
            pair = load_pair(self._pair.cert, self._pair.key)
            context = tls_context(self._settings, pair)
        except StartError as error:
            log.error(
                "certificate reload failed; keeping the current certificate", reason=str(error)
            )
            return False
        self._use(context)
        self._presented.facts = pair.facts
        is_other = pair.fingerprint != self._fingerprint
        self._fingerprint = pair.fingerprint
        log.info("certificate reloaded", sha256=pair.fingerprint, is_other=is_other)
        return True


def _signature(*files: Path) -> _Signature:
    """Returns values that change when a file is replaced or written; zeros for a missing file."""
    return tuple(_of_file(file) for file in files)


def _of_file(file: Path) -> tuple[int, int, int]:
    try:
        found = file.stat()
    except OSError:
        return 0, 0, 0
    return found.st_ino, found.st_size, found.st_mtime_ns

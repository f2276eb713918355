"""The server certificate, as shown in the console. `bootstrap` stores it here at startup and after
each renewal."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CertificateFacts:
    """Fields of a certificate."""

    file: str
    fingerprint: str
    """SHA-256 in hex with colons, in the format that the server prints at its first start."""
    subject: str
    issuer: str
    names: tuple[str, ...]
    """Host names and addresses for which the certificate is valid."""
    from_us: int
    until_us: int


@dataclass(slots=True)
class PresentedCertificate:
    """Current certificate; `facts` is None if the server does not terminate TLS. `facts` is
    replaced as a whole, so that other threads can read it."""

    facts: CertificateFacts | None = None

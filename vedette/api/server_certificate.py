"""The certificate that new connections get, which the console shows: `bootstrap` keeps it here at
the start, and when a renewed one was taken into use."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CertificateFacts:
    """What a certificate says of itself."""

    file: str
    fingerprint: str
    """SHA-256 in hex with colons, as the first start prints it."""
    subject: str
    issuer: str
    names: tuple[str, ...]
    """Of hosts and addresses that it is valid for."""
    from_us: int
    until_us: int


@dataclass(slots=True)
class PresentedCertificate:
    """`facts` is None for a server without TLS of its own. Replaced as a whole, so that threads may
    read it."""

    facts: CertificateFacts | None = None

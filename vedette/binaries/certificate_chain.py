"""Builds and judges the chain from the certificate of a signer to a trusted root.

A certificate signs the next one if the names match, the signature verifies and it is an authority.
Revocation is not queried, because that would reveal to others which files are stored. Certificates
that an operator knows to be revoked belong in the list of distrusted certificates.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.x509.oid import ExtendedKeyUsageOID

from vedette.binaries.trust_store import TrustStore
from vedette.limits import Limit

CERTIFICATE_CHAIN_MAX: Limit[int] = 10
"""Certificates from a signer to its root; real chains have three or four."""

CERTIFICATE_CHECKS_MAX: Limit[int] = 100
"""Signatures of certificates verified for one file, so that crossed names cannot prolong the search
for a chain."""


CODE_SIGNING = ExtendedKeyUsageOID.CODE_SIGNING
TIME_STAMPING = ExtendedKeyUsageOID.TIME_STAMPING


class Verdict(Enum):
    """Result for a chain."""

    TRUSTED = "trusted"
    DISTRUSTED = "distrusted"
    EXPIRED = "expired"
    UNTRUSTED_ROOT = "untrusted root"
    INCOMPLETE = "incomplete"


@dataclass(slots=True)
class _Search:
    pool: Sequence[x509.Certificate]
    roots: frozenset[x509.Certificate]
    checks_left: int = CERTIFICATE_CHECKS_MAX


def judge_chain(
    signer: x509.Certificate,
    others: Sequence[x509.Certificate],
    trust: TrustStore,
    usage: x509.ObjectIdentifier,
    at_us: int,
) -> Verdict:
    """Returns the verdict on the best chain of a signer at a time (epoch microseconds). `others`
    are the certificates that came with the signature; limits end chains that loop or branch."""
    roots = _load(trust.roots)
    search = _Search([*others, *roots], frozenset(roots))
    if not _may_sign(signer, usage):
        return Verdict.INCOMPLETE
    chains = _chains([signer], search)
    if any(_fingerprint(one) in trust.distrusted for chain in chains for one in chain):
        return Verdict.DISTRUSTED
    at = datetime.fromtimestamp(at_us / 1_000_000, UTC)
    verdicts = {_judge(chain, search.roots, at) for chain in chains}
    best = (Verdict.TRUSTED, Verdict.EXPIRED, Verdict.UNTRUSTED_ROOT)
    return next((one for one in best if one in verdicts), Verdict.INCOMPLETE)


def _load(roots: Sequence[bytes]) -> list[x509.Certificate]:
    return [x509.load_der_x509_certificate(root) for root in roots]


def _judge(
    chain: list[x509.Certificate], roots: frozenset[x509.Certificate], at: datetime
) -> Verdict:
    last = chain[-1]
    if last not in roots:
        is_root = last.issuer == last.subject
        return Verdict.UNTRUSTED_ROOT if is_root else Verdict.INCOMPLETE
    # Windows does not check the dates of a trusted root either.
    dated = chain[:-1] or chain
    if all(one.not_valid_before_utc <= at <= one.not_valid_after_utc for one in dated):
        return Verdict.TRUSTED
    return Verdict.EXPIRED


def _chains(chain: list[x509.Certificate], search: _Search) -> list[list[x509.Certificate]]:
    """Returns every way to extend the chain to a certificate that ends it."""
    last = chain[-1]
    if last in search.roots or len(chain) >= CERTIFICATE_CHAIN_MAX:
        return [chain]
    found = []
    for issuer in search.pool:
        if issuer in chain or issuer.subject != last.issuer or not _signed(last, issuer, search):
            continue
        found += _chains([*chain, issuer], search)
    return found or [chain]


def _signed(one: x509.Certificate, issuer: x509.Certificate, search: _Search) -> bool:
    if search.checks_left <= 0 or not _is_authority(issuer):
        return False
    search.checks_left -= 1
    try:
        one.verify_directly_issued_by(issuer)
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
        return False
    return True


def _is_authority(one: x509.Certificate) -> bool:
    try:
        return one.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except x509.ExtensionNotFound:
        return one.version == x509.Version.v1
    except ValueError:
        return False


def _may_sign(one: x509.Certificate, usage: x509.ObjectIdentifier) -> bool:
    """Whether the certificate's purposes allow the usage; a certificate without purposes allows
    all."""
    try:
        return usage in one.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except x509.ExtensionNotFound:
        return True
    except ValueError:
        return False


def _fingerprint(one: x509.Certificate) -> str:
    return one.fingerprint(hashes.SHA256()).hex()

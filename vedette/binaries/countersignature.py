"""Reads the time of a signature from a time stamping authority: RFC 3161 and the older form."""

from typing import Any, Final

from asn1crypto import cms, tsp
from cryptography import x509

from vedette.binaries.certificate_chain import TIME_STAMPING, Verdict, judge_chain
from vedette.binaries.signed_message import (
    MalformedSignatureError,
    attribute,
    certificate_of,
    digest_of,
    is_signed,
    read_message,
)
from vedette.binaries.trust_store import TrustStore

_RFC3161: Final = "1.3.6.1.4.1.311.3.3.1"
_PKCS9_COUNTERSIGNATURE: Final = "1.2.840.113549.1.9.6"
_TST_INFO: Final = "1.2.840.113549.1.9.16.1.4"
_SIGNING_TIME: Final = "1.2.840.113549.1.9.5"


def countersigned_at_us(
    signer: Any, certificates: list[x509.Certificate], trust: TrustStore
) -> int:
    """Returns epoch microseconds; 0 without a countersignature of a trusted authority. Raises
    MalformedSignatureError for an invalid countersignature."""
    attributes = signer["unsigned_attrs"]
    stamped: bytes = signer["signature"].native
    token = attribute(attributes, _RFC3161)
    if token is not None:
        return _by_token(token.dump(), stamped, trust)
    older = attribute(attributes, _PKCS9_COUNTERSIGNATURE)
    if older is not None:
        return _by_signer(older, stamped, certificates, trust)
    return 0


def _by_token(der: bytes, stamped: bytes, trust: TrustStore) -> int:
    message = read_message(der)
    try:
        if message.content_type != _TST_INFO:
            raise MalformedSignatureError("the time stamp is none")
        info: Any = tsp.TSTInfo.load(message.content)
        imprint = info["message_imprint"]
        name, claimed = imprint["hash_algorithm"]["algorithm"].native, imprint["hashed_message"]
        made = info["gen_time"].native
    except (ValueError, TypeError, KeyError) as error:
        raise MalformedSignatureError(f"time stamp: {error}") from error
    if digest_of(name, stamped) != claimed.native:
        raise MalformedSignatureError("the time stamp is of another signature")
    at_us = int(made.timestamp() * 1_000_000)
    return _trusted(message.signer, message.content, message.certificates, trust, at_us)


def _by_signer(
    older: Any, stamped: bytes, certificates: list[x509.Certificate], trust: TrustStore
) -> int:
    signer: Any = cms.SignerInfo.load(older.dump())
    made = attribute(signer["signed_attrs"], _SIGNING_TIME)
    if made is None:
        raise MalformedSignatureError("the countersignature has no time")
    at_us = int(made.native.timestamp() * 1_000_000)
    return _trusted(signer, stamped, certificates, trust, at_us)


def _trusted(
    signer: Any,
    content: bytes,
    certificates: list[x509.Certificate],
    trust: TrustStore,
    at_us: int,
) -> int:
    certificate = certificate_of(signer, certificates)
    if certificate is None or not is_signed(signer, certificate, content):
        raise MalformedSignatureError("the time stamp is not signed by its authority")
    verdict = judge_chain(certificate, certificates, trust, TIME_STAMPING, at_us)
    return at_us if verdict is Verdict.TRUSTED else 0

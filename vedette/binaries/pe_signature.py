"""Authenticode: determines who signed a PE file, and judges the signature.

The order of checks determines the result: changed bytes are a Bad Signature whoever signed them, a
signature that does not verify is an Invalid Signature, and only then is the chain judged.
"""

import hashlib
import struct
import time
from typing import Any, Final

from asn1crypto import core, parser
from cryptography import x509
from cryptography.x509.oid import NameOID

from vedette.binaries.certificate_chain import CODE_SIGNING, Verdict, judge_chain
from vedette.binaries.countersignature import countersigned_at_us
from vedette.binaries.file_facts import Problems, Signature, clean_text
from vedette.binaries.signed_message import (
    MalformedSignatureError,
    SignedMessage,
    attribute,
    is_signed,
    read_message,
)
from vedette.binaries.trust_store import TrustStore
from vedette.limits import Limit

SIGNATURE_BYTES_MAX: Limit[int] = 4 * 1024 * 1024
"""Bytes of a signature: drivers with many nested signatures have 200 kB."""


CODES: Final = {
    "Signed": 0,
    "Unsigned": 0x800B0100,
    "Bad Signature": 0x80096010,
    "Invalid Signature": 0x80096004,
    "Expired": 0x800B0101,
    "Invalid Chain": 0x800B010A,
    "Untrusted Root": 0x800B0109,
    "Explicit Distrust": 0x800B0111,
}
"""Maps result to the return code of WinVerifyTrust."""

_VERDICTS: Final = {
    Verdict.TRUSTED: "Signed",
    Verdict.DISTRUSTED: "Explicit Distrust",
    Verdict.EXPIRED: "Expired",
    Verdict.UNTRUSTED_ROOT: "Untrusted Root",
    Verdict.INCOMPLETE: "Invalid Chain",
}
_SIGNED_DATA: Final = 2
_INDIRECT_DATA: Final = "1.3.6.1.4.1.311.2.1.4"
_OPUS_INFO: Final = "1.3.6.1.4.1.311.2.1.12"
_SIGNING_TIME: Final = "1.2.840.113549.1.9.5"
_DIGEST_NAMES: Final = {
    "1.2.840.113549.2.5": "md5",
    "1.3.14.3.2.26": "sha1",
    "2.16.840.1.101.3.4.2.1": "sha256",
    "2.16.840.1.101.3.4.2.2": "sha384",
    "2.16.840.1.101.3.4.2.3": "sha512",
}


def read_signature(content: bytes, trust: TrustStore, problems: Problems) -> Signature:
    """Returns the first signature of a complete PE file, judged now."""
    try:
        places = _places(content)
        der = _signed_data(content, *places[2:])
        if not der:
            return _judged("Unsigned")
        message = read_message(der)
    except (MalformedSignatureError, struct.error) as error:
        problems.add("signature", error)
        return _judged("Invalid Signature")
    try:
        return _judge(message, content, places, trust)
    except (MalformedSignatureError, ValueError, TypeError, KeyError, AttributeError) as error:
        problems.add("signature", error)
        return _described(message, "Invalid Signature", 0)


def _judge(
    message: SignedMessage, content: bytes, places: tuple[int, int, int, int], trust: TrustStore
) -> Signature:
    if message.content_type != _INDIRECT_DATA:
        raise MalformedSignatureError("it does not sign a program")
    name, claimed = _claimed_digest(message.content)
    if _file_digest(name, content, places) != claimed:
        return _described(message, "Bad Signature", 0)
    certificate = message.certificate
    if certificate is None:
        return _described(message, "Invalid Chain", 0)
    if not is_signed(message.signer, certificate, message.content):
        return _described(message, "Invalid Signature", 0)
    at_us = countersigned_at_us(message.signer, message.certificates, trust)
    now_us = time.time_ns() // 1_000
    verdict = judge_chain(certificate, message.certificates, trust, CODE_SIGNING, at_us or now_us)
    if verdict is Verdict.UNTRUSTED_ROOT and not trust.roots:
        return _described(message, "", 0)
    return _described(message, _VERDICTS[verdict], at_us)


def _judged(result: str) -> Signature:
    return Signature(result, str(CODES[result]))


def _described(message: SignedMessage, result: str, countersigned_us: int) -> Signature:
    """Returns a result with the signature's own data."""
    certificate, attributes = message.certificate, message.signer["signed_attrs"]
    made = attribute(attributes, _SIGNING_TIME)
    claimed_us = int(made.native.timestamp() * 1_000_000) if made is not None else 0
    return Signature(
        result,
        str(CODES[result]) if result else "",
        publisher=_common_name(certificate.subject) if certificate else "",
        issuer=_common_name(certificate.issuer) if certificate else "",
        subject=clean_text(certificate.subject.rfc4514_string()) if certificate else "",
        prog_name=_program_name(attribute(attributes, _OPUS_INFO)),
        sign_time_us=max(0, countersigned_us or claimed_us),
        countersign_time_us=countersigned_us,
    )


def _common_name(name: x509.Name) -> str:
    for oid in (NameOID.COMMON_NAME, NameOID.ORGANIZATION_NAME):
        if found := name.get_attributes_for_oid(oid):
            return clean_text(found[0].value)
    return clean_text(name.rfc4514_string())


def _program_name(opus: Any) -> str:
    """Returns `programName` of SpcSpOpusInfo: [0] { [0] BMPString or [1] IA5String }."""
    if opus is None:
        return ""
    try:
        outer = parser.parse(parser.parse(opus.dump())[4])
        if outer[2] != 0:
            return ""
        _, _, tag, _, text, _ = parser.parse(outer[4])
    except (ValueError, IndexError):
        return ""
    return clean_text(text.decode("utf-16-be" if tag == 0 else "latin-1", "replace"))


def _places(content: bytes) -> tuple[int, int, int, int]:
    """Returns (offset of the checksum, offset of the certificate table entry, start of that table,
    its size); start and size are 0 for a file without one. Raises struct.error for a truncated
    file."""
    (header,) = struct.unpack_from("<I", content, 60)
    (magic,) = struct.unpack_from("<H", content, header + 24)
    directories = header + 24 + (112 if magic == 0x20B else 96)
    (count,) = struct.unpack_from("<I", content, directories - 4)
    entry = directories + 8 * 4
    start, size = struct.unpack_from("<II", content, entry) if count > 4 else (0, 0)
    if size and start + size > len(content):
        raise MalformedSignatureError("its place is outside of the file")
    return header + 24 + 64, entry, start, size


def _signed_data(content: bytes, start: int, size: int) -> bytes:
    """Returns the first PKCS #7 message of the certificate table; empty if there is none."""
    if size > SIGNATURE_BYTES_MAX:
        raise MalformedSignatureError(f"{size} bytes are too many")
    at, end = start, start + size
    while at + 8 <= end:
        length, _, kind = struct.unpack_from("<IHH", content, at)
        if length < 8 or at + length > end:
            raise MalformedSignatureError("an entry is longer than its table")
        if kind == _SIGNED_DATA:
            return content[at + 8 : at + length]
        at += -(-length // 8) * 8
    return b""


def _claimed_digest(indirect: bytes) -> tuple[str, bytes]:
    """Returns algorithm and value of the digest in SpcIndirectDataContent, without its tag."""
    try:
        digest_info = parser.parse(indirect[len(_first(indirect)) :])[4]
        algorithm = _first(digest_info)
        value: bytes = parser.parse(digest_info[len(algorithm) :])[4]
        oid = core.ObjectIdentifier.load(_first(parser.parse(algorithm)[4])).dotted
    except (ValueError, TypeError, IndexError) as error:
        raise MalformedSignatureError(f"its digest cannot be read: {error}") from error
    if oid not in _DIGEST_NAMES:
        raise MalformedSignatureError(f"digest algorithm {oid}")
    return _DIGEST_NAMES[oid], value


def _first(elements: bytes) -> bytes:
    """Returns the first element, with its tag and length."""
    _, _, _, head, content, trailer = parser.parse(elements)
    return bytes(head + content + trailer)


def _file_digest(name: str, content: bytes, places: tuple[int, int, int, int]) -> bytes:
    """Returns the digest of the file without its checksum and its certificates."""
    checksum, entry, start, size = places
    view, digest = memoryview(content), hashlib.new(name, usedforsecurity=False)
    for part in (view[:checksum], view[checksum + 4 : entry], view[entry + 8 : start]):
        digest.update(part)
    digest.update(view[start + size :])
    return digest.digest()

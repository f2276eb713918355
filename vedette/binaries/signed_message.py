"""Signed messages (CMS, PKCS #7), used by program signatures and time stamps."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from asn1crypto import cms, core, parser
from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa

from vedette.limits import Limit

CERTIFICATES_MAX: Limit[int] = 64
"""Certificates of one signature that are read."""

SIGNATURE_ERROR_CHARS_MAX: Limit[int] = 200
"""Characters of the reason why a signature cannot be read: a parser may quote its input."""


_CONTEXT: Final = 2
"""The tag class of an element that wraps another."""

_DIGESTS: Final[dict[str, type[hashes.HashAlgorithm]]] = {
    "md5": hashes.MD5,
    "sha1": hashes.SHA1,
    "sha256": hashes.SHA256,
    "sha384": hashes.SHA384,
    "sha512": hashes.SHA512,
}


class MalformedSignatureError(Exception):
    """The data cannot be read as a signature."""


@dataclass(frozen=True, slots=True)
class SignedMessage:
    """A message with its first signer."""

    content_type: str
    content: bytes
    """The signed octets, without tag and length."""
    signer: Any
    certificates: list[x509.Certificate]

    @property
    def certificate(self) -> x509.Certificate | None:
        """The signer's certificate; None if it is not in the message."""
        return certificate_of(self.signer, self.certificates)


def read_message(der: bytes) -> SignedMessage:
    """Parses a DER message. Raises MalformedSignatureError."""
    try:
        signed: Any = cms.ContentInfo.load(der)["content"]
        inner = signed["encap_content_info"]
        signers = signed["signer_infos"]
        if not len(signers):
            raise MalformedSignatureError("the signer is missing")
        content = inner["content"]
        return SignedMessage(
            inner["content_type"].dotted,
            _octets(content),
            signers[0],
            list(_certificates(signed)),
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise MalformedSignatureError(str(error)[:SIGNATURE_ERROR_CHARS_MAX]) from error


def _octets(content: Any) -> bytes:
    """Returns the signed octets: the value of an octet string, in the older form that of any
    element."""
    if isinstance(content, core.ParsableOctetString):
        return bytes(content)
    kind, _, _, _, octets, _ = parser.parse(content.dump())
    return bytes(parser.parse(octets)[4] if kind == _CONTEXT else octets)


def _certificates(signed: Any) -> Iterator[x509.Certificate]:
    for choice in list(signed["certificates"] or ())[:CERTIFICATES_MAX]:
        try:
            yield x509.load_der_x509_certificate(choice.chosen.dump())
        except ValueError:
            continue


def certificate_of(signer: Any, certificates: list[x509.Certificate]) -> x509.Certificate | None:
    """Returns the certificate that a signer names by issuer and serial number."""
    named = signer["sid"].chosen
    if not hasattr(named, "spec") and "serial_number" not in getattr(named, "native", {}):
        return None
    serial, issuer = named["serial_number"].native, named["issuer"].dump()
    return next(
        (
            one
            for one in certificates
            if one.serial_number == serial and one.issuer.public_bytes() == issuer
        ),
        None,
    )


def digest_of(name: str, content: bytes) -> bytes:
    """Returns the digest of `content`. Raises MalformedSignatureError for an unsupported
    algorithm."""
    if name not in _DIGESTS:
        raise MalformedSignatureError(f"digest algorithm {name[:40]!r}")
    return hashlib.new(name, content, usedforsecurity=False).digest()


def attribute(attributes: Any, oid: str) -> Any:
    """Returns the first value of an attribute; None if there is none."""
    for one in attributes or ():
        if one["type"].dotted == oid and len(one["values"]):
            return one["values"][0]
    return None


def is_signed(signer: Any, certificate: x509.Certificate, content: bytes) -> bool:
    """Whether the signer's key signed the content, through its signed attributes if it has some."""
    name = signer["digest_algorithm"]["algorithm"].native
    digest = digest_of(name, content)
    signed = content
    if len(signer["signed_attrs"] or ()):
        claimed = attribute(signer["signed_attrs"], "1.2.840.113549.1.9.4")
        if claimed is None or claimed.native != digest:
            return False
        # Signed as a SET; in the message it has a context tag.
        signed = b"\x31" + signer["signed_attrs"].dump()[1:]
    return _verifies(certificate, signer["signature"].native, signed, _DIGESTS[name]())


def _verifies(
    certificate: x509.Certificate, signature: bytes, signed: bytes, digest: hashes.HashAlgorithm
) -> bool:
    try:
        key = certificate.public_key()
        if isinstance(key, rsa.RSAPublicKey):
            key.verify(signature, signed, padding.PKCS1v15(), digest)
        elif isinstance(key, ec.EllipticCurvePublicKey):
            key.verify(signature, signed, ec.ECDSA(digest))
        else:
            return False
    except (InvalidSignature, UnsupportedAlgorithm, ValueError, TypeError):
        return False
    return True

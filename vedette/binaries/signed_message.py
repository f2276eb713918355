"""Signed messages (CMS, PKCS #7), as signatures of programs and time stamps use them."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from asn1crypto import cms, core, parser
from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa

from vedette.limits import CERTIFICATES_MAX, SIGNATURE_ERROR_CHARS_MAX

_CONTEXT: Final = 2
"""The class of a tag that wraps an element."""

_DIGESTS: Final[dict[str, type[hashes.HashAlgorithm]]] = {
    "md5": hashes.MD5,
    "sha1": hashes.SHA1,
    "sha256": hashes.SHA256,
    "sha384": hashes.SHA384,
    "sha512": hashes.SHA512,
}


class MalformedSignatureError(Exception):
    """It cannot be read as a signature."""


@dataclass(frozen=True, slots=True)
class SignedMessage:
    """A message with its first signer."""

    content_type: str
    content: bytes
    """The octets that are signed: without tag and length."""
    signer: Any
    certificates: list[x509.Certificate]

    @property
    def certificate(self) -> x509.Certificate | None:
        """Of the signer; None where it is not there."""
        return certificate_of(self.signer, self.certificates)


def read_message(der: bytes) -> SignedMessage:
    """Raises MalformedSignatureError."""
    try:
        signed: Any = cms.ContentInfo.load(der)["content"]
        inner = signed["encap_content_info"]
        signers = signed["signer_infos"]
        if not len(signers):
            raise MalformedSignatureError("there is no signer")
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
    """What is signed: the value of an octet string, in the older form that of any element."""
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
    """The certificate that a signer names by issuer and serial number."""
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
    """Raises MalformedSignatureError for an algorithm that no signature should have."""
    if name not in _DIGESTS:
        raise MalformedSignatureError(f"digest algorithm {name[:40]!r}")
    return hashlib.new(name, content, usedforsecurity=False).digest()


def attribute(attributes: Any, oid: str) -> Any:
    """The first value of an attribute; None where there is none."""
    for one in attributes or ():
        if one["type"].dotted == oid and len(one["values"]):
            return one["values"][0]
    return None


def is_signed(signer: Any, certificate: x509.Certificate, content: bytes) -> bool:
    """Whether the signer's key signed the content, by its attributes where it has some."""
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

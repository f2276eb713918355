"""Ed25519 in plain Python: the vectors of RFC 8032, another implementation, and forgeries."""

import base64
import random

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from vedette.sensor.ed25519 import decode_key, verify

ORDER = 2**252 + 27742317777372353535851937790883648493
P = 2**255 - 19
BASE = "58" + "66" * 31
SHA_OF_ABC = (
    "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
    "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"
)
VECTORS = [
    (
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b4"
        "6bd25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d"
        "8c387b2eaeb4302aeeb00d291612bb0c00",
    ),
    (
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6"
        "594a7c15e9716ed28dc027beceea1ec40a",
    ),
    (
        "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
        SHA_OF_ABC,
        "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfbc7c66431e0"
        "303dca179c138ac17ad9bef1177331a704",
    ),
]
SMALL_ORDER = [
    "01" + "00" * 31,
    "ec" + "ff" * 30 + "7f",
    "00" * 32,
    "00" * 31 + "80",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
]
NOT_CANONICAL = [
    "01" + "00" * 30 + "80",  # the neutral point with a negative zero
    "ec" + "ff" * 31,
    "ed" + "ff" * 30 + "7f",  # y = p
    "ee" + "ff" * 30 + "7f",  # y = p + 1
    "ff" * 32,
]


@pytest.mark.parametrize(("key", "message", "signature"), VECTORS)
def test_the_vectors_of_the_rfc_verify(key: str, message: str, signature: str) -> None:
    assert verify(bytes.fromhex(key), bytes.fromhex(message), bytes.fromhex(signature))


def _signed(seed: int) -> tuple[bytes, bytes, bytes]:
    drawn = random.Random(seed)
    private = Ed25519PrivateKey.from_private_bytes(drawn.randbytes(32))
    message = drawn.randbytes(drawn.randrange(300))
    return private.public_key().public_bytes_raw(), message, private.sign(message)


@pytest.mark.parametrize("seed", range(10))
def test_what_another_implementation_signed_verifies_and_every_change_of_it_does_not(
    seed: int,
) -> None:
    key, message, signature = _signed(seed)
    assert verify(key, message, signature)
    assert not verify(key, message + b"\0", signature)
    for at in random.Random(seed).sample(range(512), 12):
        changed = int.from_bytes(signature, "little") ^ (1 << at)
        assert not verify(key, message, changed.to_bytes(64, "little"))
    assert not verify(_signed(seed + 100)[0], message, signature)


def test_the_other_encoding_of_a_signature_is_refused() -> None:
    key, message, signature = _signed(1)
    scalar = int.from_bytes(signature[32:], "little")
    for times in range(1, 15):
        other = signature[:32] + (scalar + times * ORDER).to_bytes(32, "little")
        assert not verify(key, message, other)


@pytest.mark.parametrize("key", SMALL_ORDER + NOT_CANONICAL)
def test_a_key_of_small_order_or_in_another_encoding_verifies_nothing(key: str) -> None:
    packed = bytes.fromhex(key)
    assert decode_key(base64.b64encode(packed).decode()) is None
    forged = bytes.fromhex(BASE) + (1).to_bytes(32, "little")
    for message in (b"", b"a", b"b", b"c", b"d", b"e", b"f", b"g"):
        assert not verify(packed, message, forged)
        assert not verify(packed, message, packed + bytes(32))


@pytest.mark.parametrize("point", SMALL_ORDER + NOT_CANONICAL)
def test_an_r_of_small_order_is_refused(point: str) -> None:
    key, message, signature = _signed(2)
    assert not verify(key, message, bytes.fromhex(point) + signature[32:])
    assert not verify(key, message, bytes.fromhex(point) + bytes(32))


@pytest.mark.parametrize(
    ("key", "signature"), [(b"", b""), (bytes(31), bytes(64)), (b"\x01" * 32, bytes(63))]
)
def test_wrong_lengths_are_refused(key: bytes, signature: bytes) -> None:
    assert not verify(key, b"", signature)


@pytest.mark.parametrize("text", ["", "x", "AAAA", None, 5, "é" * 44, "*" * 44, "A" * 10**6])
def test_text_that_is_no_key_is_none(text: object) -> None:
    assert decode_key(text) is None

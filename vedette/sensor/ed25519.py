"""Verifies Ed25519 signatures (RFC 8032, 5.1.7) in plain Python.

Strict, so that a signature that verifies here verifies everywhere, and a key or signature has only
one encoding:

- S must be below the group order: S + L is another encoding of the same signature.
- Points must be encoded canonically: y below p, no negative zero x.
- Points of small order (there are 8) are rejected as key and as R: with such a key, a signature
  can be made that fits many messages.
- The equation is checked without the cofactor, as most implementations do.

All inputs are public, so constant time is not needed. A verification takes some milliseconds.
"""

from __future__ import annotations

import base64
import hashlib

KEY_BYTES = 32
SIGNATURE_BYTES = 64

_P = 2**255 - 19
_L = 2**252 + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, _P - 2, _P) % _P
_ROOT_OF_MINUS_1 = pow(2, (_P - 1) // 4, _P)

# Extended coordinates (X, Y, Z, T): x = X/Z, y = Y/Z, x*y = T/Z
_Point = tuple[int, int, int, int]
_NEUTRAL: _Point = (0, 1, 1, 0)


def verify(key: bytes, message: bytes, signature: bytes) -> bool:
    """Whether `signature` (R and S, 64 bytes) over `message` was made with the private key of the
    public `key` (32 bytes). False for malformed input."""
    if len(key) != KEY_BYTES or len(signature) != SIGNATURE_BYTES:
        return False
    a, r = _decode(key), _decode(signature[:32])
    s = int.from_bytes(signature[32:], "little")
    if a is None or r is None or s >= _L or _is_small(a) or _is_small(r):
        return False
    digest = hashlib.sha512(signature[:32] + key + message).digest()
    k = int.from_bytes(digest, "little") % _L
    return _equal(_multiply(s, _BASE), _add(r, _multiply(k, a)))


def decode_key(text: object) -> bytes | None:
    """Decodes a public key (32 bytes) from base64. Returns None for input with which no signature
    could verify."""
    try:
        key = base64.b64decode(str(text), validate=True)
    except ValueError:
        return None
    point = _decode(key) if len(key) == KEY_BYTES else None
    return None if point is None or _is_small(point) else key


def _decode(encoded: bytes) -> _Point | None:
    """Decodes a point from 32 bytes (RFC 8032, 5.1.3). Returns None if there is no such point, or
    if the encoding is not canonical."""
    number = int.from_bytes(encoded, "little")
    sign, y = number >> 255, number & ((1 << 255) - 1)
    if y >= _P:
        return None
    x = _x_of(y, sign)
    return None if x is None else (x, y, 1, x * y % _P)


def _x_of(y: int, sign: int) -> int | None:
    u, v = (y * y - 1) % _P, (_D * y * y + 1) % _P
    x = u * pow(v, 3, _P) * pow(u * pow(v, 7, _P), (_P - 5) // 8, _P) % _P
    if (v * x * x - u) % _P:
        x = x * _ROOT_OF_MINUS_1 % _P
    if (v * x * x - u) % _P or (x == 0 and sign):
        return None
    return _P - x if x & 1 != sign else x


def _add(one: _Point, other: _Point) -> _Point:
    """Adds two points (RFC 8032, 5.1.4). The formula is complete, so it also doubles."""
    a = (one[1] - one[0]) * (other[1] - other[0]) % _P
    b = (one[1] + one[0]) * (other[1] + other[0]) % _P
    c = 2 * one[3] * other[3] * _D % _P
    d = 2 * one[2] * other[2] % _P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % _P, g * h % _P, f * g % _P, e * h % _P


def _multiply(scalar: int, point: _Point) -> _Point:
    total = _NEUTRAL
    while scalar:
        if scalar & 1:
            total = _add(total, point)
        point = _add(point, point)
        scalar >>= 1
    return total


def _equal(one: _Point, other: _Point) -> bool:
    return (one[0] * other[2] - other[0] * one[2]) % _P == 0 and (
        one[1] * other[2] - other[1] * one[2]
    ) % _P == 0


def _is_small(point: _Point) -> bool:
    return _equal(_multiply(8, point), _NEUTRAL)


def _base() -> _Point:
    point = _decode((4 * pow(5, _P - 2, _P) % _P).to_bytes(32, "little"))
    assert point is not None
    return point


_BASE = _base()

"""Parsers for values of event data: unknown markers, numbers, hashes, registry paths.

Windows senders differ in types and spelling, so every function accepts any text without raising.
"""

from vedette.limits import TEXT_CHARS_MAX, Limit
from vedette.model.memoize import memoize

SID_CHARS_MAX: Limit[int] = 60
"""Maximum characters of a Windows security id. A longer text is not an id."""


UNKNOWN_TEXT = frozenset(
    {
        "",
        "-",
        "?",
        "(null)",
        "N/A",
        "Unknown",
        "<unknown process>",
        "&lt;unknown process&gt;",
        "< unknown process> ",  # Sysmon for Linux
    }
)
"""Markers for "unknown" from Sysmon, Windows and NXLog
(docs/telemetry-formats.md#real-world-data, fact 12)."""

_UNKNOWN_CHARS_MAX = max(map(len, UNKNOWN_TEXT))


def known_text(value: object) -> str:
    """Returns a scalar as text, at most TEXT_CHARS_MAX characters; "" for unknown markers."""
    if not isinstance(value, str):
        return scalar_text(value)
    if len(value) > _UNKNOWN_CHARS_MAX:
        return value if len(value) <= TEXT_CHARS_MAX else value[:TEXT_CHARS_MAX]
    return "" if value in UNKNOWN_TEXT else value


def free_text(value: object) -> str:
    """Returns a scalar as text, at most TEXT_CHARS_MAX characters; "" for null."""
    return value[:TEXT_CHARS_MAX] if isinstance(value, str) else scalar_text(value)


_DOMAIN_SID_PARTS = 7


def domain_sid(account_sid: str) -> str:
    """Returns the SID of the domain or computer of an account (S-1-5-21-A-B-C-NUMBER); "" for any
    other text."""
    parts = account_sid.split("-") if len(account_sid) <= SID_CHARS_MAX else []
    is_account = len(parts) == _DOMAIN_SID_PARTS + 1 and parts[:4] == ["S", "1", "5", "21"]
    if not is_account or not all(one.isascii() and one.isdecimal() for one in parts[4:]):
        return ""
    return "-".join(parts[:_DOMAIN_SID_PARTS])


def scalar_text(value: object) -> str:
    """Returns a scalar as text; "" for null and nested values."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else ""


def number(value: object, below: int = 1 << 32) -> int:
    """Parses a decimal or hexadecimal number; 0 if malformed, negative or not below the bound."""
    if isinstance(value, str):
        try:
            found = int(value[:24], 16 if value[:2] in {"0x", "0X"} else 10)
        except ValueError:
            return 0
    elif isinstance(value, int):
        found = int(value)
    else:
        return 0
    return found if 0 <= found < below else 0


@memoize(4_096)
def access_mask(value: str) -> int:
    """Parses an access mask in hexadecimal with or without 0x; 0 if malformed."""
    try:
        found = int(value, 16)
    except ValueError:
        return 0
    return found if 0 <= found < 1 << 32 else 0


def is_true(value: object) -> bool:
    """Whether a flag is set: true, "true", "True", "1", "yes"."""
    return value is True or (isinstance(value, str) and value.lower() in {"true", "1", "yes"})


_SIGNATURES = {
    "valid": "Signed",
    "expired": "Expired",
    "revoked": "Explicit Distrust",
    "unavailable": "Unsigned",
}


def digsig_result(signed: object, status: str | None) -> str:
    """Returns the signature result for `Signed` and `SignatureStatus`
    (docs/telemetry-events.md, Sysmon 7)."""
    if signed is None and status is None:
        return ""
    return _signature(status or "") if is_true(signed) else "Unsigned"


@memoize(1_024)
def _signature(status: str) -> str:
    return _SIGNATURES.get(status.lower(), "Bad Signature")


_HIVES = {
    "HKLM": "\\registry\\machine",
    "HKEY_LOCAL_MACHINE": "\\registry\\machine",
    "HKU": "\\registry\\user",
    "HKEY_USERS": "\\registry\\user",
    "HKCR": "\\registry\\machine\\software\\classes",
    "HKEY_CLASSES_ROOT": "\\registry\\machine\\software\\classes",
}
_KERNEL_HIVES = ("\\registry\\machine", "\\registry\\user")


def registry_path(path: str) -> str:
    r"""Returns a registry path with its kernel root: `HKLM\X` becomes `\registry\machine\X`."""
    cut = path.find("\\")
    if cut > 0:
        root = _HIVES.get(path[:cut])
        return path if root is None else root + path[cut:]
    if cut == 0:
        low = path[:18].lower()
        for root in _KERNEL_HIVES:
            if low.startswith(root):
                return root + path[len(root) :]
    return _HIVES.get(path, path)

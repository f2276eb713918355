"""File hashes in the notations of senders."""

from msgspec import Struct

from vedette.model.memoize import memoize


class Hashes(Struct, frozen=True, gc=False):
    """Hashes of a file in lower-case hexadecimal, "" if unknown."""

    md5: str = ""
    sha256: str = ""
    sha1: str = ""
    imphash: str = ""

    def any_known(self) -> bool:
        """Whether a hash that identifies the content is known."""
        return bool(self.md5 or self.sha256 or self.sha1)


NO_HASHES = Hashes()
_DIGITS = {"md5": 32, "sha256": 64, "sha1": 40, "imphash": 32}
_BARE = {32: "md5", 40: "sha1", 64: "sha256"}


@memoize(65_536)
def hashes_of(text: str) -> Hashes:
    """Parses Sysmon's `SHA1=..,MD5=..,SHA256=..,IMPHASH=..`, or a bare hash. Cached."""
    found: dict[str, str] = {}
    for part in text.split(","):
        name, mark, digits = part.strip().lower().partition("=")
        if not mark:
            name, digits = _BARE.get(len(name), ""), name
        if _DIGITS.get(name) == len(digits) and _is_hash(digits):
            found[name] = digits
    return Hashes(**found) if found else NO_HASHES


def _is_hash(digits: str) -> bool:
    # Sysmon writes all zeros for a file without an import table.
    return digits.strip("0") != "" and not digits.strip("0123456789abcdef")

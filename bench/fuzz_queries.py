"""Random and mutated queries, from a seed: what people, converters and attackers might type.

A query is grown from fields of the catalogue and words of our own, in the shapes that published
queries have; then, often, it is damaged: characters are dropped, doubled, exchanged for ones that
mean something to a lexer, halves of two queries are put together.
"""

from collections.abc import Iterator
from random import Random
from typing import Final

from vedette.model.fields import PROCESS

_FIELDS: Final = tuple(field.name for field in PROCESS.fields)
_OFTEN: Final = (
    "process_name",
    "cmdline",
    "path",
    "filemod",
    "modload",
    "regmod",
    "domain",
    "ipaddr",
    "parent_name",
    "childproc_name",
    "username",
    "start",
    "netconn_count",
    "md5",
    "ipport",
    "digsig_result",
    "digsig_publisher_modload",
    "company_name",
    "observed_filename",
    "group",
)
_STRANGE_FIELDS: Final = ("watchlist_7", "alliance_score_nvd", "nosuchfield", "c", "http", "Ünï")
_VALUES: Final = (
    "cmd.exe",
    "notepad",
    "power*",
    "*.dll",
    "?vchost.exe",
    "*",
    "**",
    ".exe",
    "a b",
    "x",
    r"c:\windows\system32\*",
    r"c:\program files (x86)\vendor",
    r"\\server\share$\x",
    r"registry\machine\system\controlset001\services",
    r"software\\microsoft\\*\\run",
    "\\",
    "-enc",
    "/c echo",
    "-k netsvcs -p",
    "http://a.test/x?y=1&z",
    "user:bob",
    "%comspec%",
    "/etc/passwd",
    "$env:x",
    "evil.test",
    ".ru",
    "com.",
    ".co.",
    "*.level.test",
    "x" * 300,
    "d41d8cd98f00b204e9800998ecf8427e",
    "d41d8*",
    "ffff",
    "Signed",
    "Bad Signature",
    "Straße",
    "İstanbul",
    "\u202egepj",
    "😀*",
    "a\u0000b",
    "\x1f\x1c",
    "' OR 1=1 --",
    "{q0:String}",
    "(?i)a+",
    "[a-z]{1,9}",
    "a^b~2",
    "&&",
    "||",
    "!x",
    "+y",
    "NOT",
)
_BARE: Final = tuple(
    value for value in _VALUES if not set(value) & set(' ()[]{}"') and not value.endswith("\\")
)
"""Values that need no quotes."""
_NUMBERS: Final = ("4", "0", "-1", '"7"', "[1 TO *]", "[* TO 5]", "{2 TO 9}", "*", "1e9")
_ADDRESSES: Final = ("10.0.0.0/8", "10.0.*", "::1", "fe8*", "[10.0.0.1 TO 10.0.0.9]", "*", "x")
_FITTING: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(("integer", "count"), _NUMBERS),
    **dict.fromkeys(("ipv4", "ipv6", "address"), _ADDRESSES),
    "time": (
        "-24h",
        "-1440m",
        "2016-12-01",
        "2016-12-01T22:15:00",
        "*",
        "[* TO 2016-12-31]",
        "[-7d TO -1d]",
        "[NOW-7DAYS TO NOW]",
        '"2016-12-01 22:15:00"',
        "yesterday",
    ),
    "bool": ("true", "FALSE", '"true"', "*", "maybe"),
}
"""Values for types that take no text; each has one that is refused."""
_ALPHABET: Final = " \t\"'\\()[]{}:*?-/.,;|&<>=~^$%#@!`+_0aAéß\u0000\x1f\u202e😀"


def queries(seed: int) -> Iterator[str]:
    """Queries without end; the same seed gives the same ones."""
    draw = Random(seed)
    before = ""
    while True:
        text = _query(draw, depth=3)
        if draw.random() < 0.5:
            for _ in range(draw.randrange(1, 6)):
                text = _damaged(draw, text, before)
        before = text
        yield text


def _query(draw: Random, depth: int) -> str:
    if depth == 0 or draw.random() < 0.35:
        return _leaf(draw)
    count = draw.choice((1, 2, 2, 3, 3, 4, 8, 30 if depth == 1 else 5))
    joint = draw.choice((" ", " AND ", " OR ", " or ", "  ", " and "))
    inner = joint.join(_query(draw, depth - 1) for _ in range(count))
    return f"{draw.choice(('', '', '', '-', 'NOT ', _field(draw) + ':'))}({inner})"


def _leaf(draw: Random) -> str:
    sign, name = draw.choice(("", "", "", "-")), _field(draw)
    field = PROCESS.find(name)
    fitting = _FITTING.get(field.type) if field is not None else None
    if fitting and draw.random() < 0.95:
        return f"{sign}{name}:{draw.choice(fitting)}"
    value = draw.choice(_VALUES if draw.random() < 0.1 else _BARE)
    if draw.random() < 0.4 and not value.endswith("\\"):
        value = f'"{value}"'
    return sign + (value if draw.random() < 0.15 else f"{name}:{value}")


def _field(draw: Random) -> str:
    chance = draw.random()
    if chance < 0.02:
        return draw.choice(_STRANGE_FIELDS)
    name = draw.choice(_OFTEN if chance < 0.6 else _FIELDS)
    return name.upper() if chance > 0.97 else name


def _damaged(draw: Random, text: str, other: str) -> str:
    at = draw.randrange(len(text) + 1)
    end = min(len(text), at + draw.randrange(1, 9))
    match draw.randrange(8):
        case 0:
            return text[:at] + text[end:]
        case 1:
            return text[:at] + text[at:end] * draw.choice((2, 3, 50)) + text[end:]
        case 2 | 3:
            return text[:at] + draw.choice(_ALPHABET) + text[at:]
        case 4:
            return text[:at] + draw.choice(_ALPHABET) + text[end:]
        case 5:
            return text[:at] + other[draw.randrange(len(other) + 1) :]
        case 6:
            return text[:at] + draw.choice(_VALUES) + text[end:]
    return "(" * draw.choice((1, 3, 70)) + text + ")" * draw.choice((0, 1, 3, 70))

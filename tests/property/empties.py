"""Generated queries with phrases of nothing: what matches the empty text, and documents have
empty fields."""

import random
from collections.abc import Iterator

from vedette.model.fields import PROCESS, RARITIES

_NOTHING = (
    '""',
    '" "',
    '"*"',
    '"**"',
    '"?"',
    '"\\ "',
    '"."',
    '".."',
    '"/"',
    '"//"',
    '":"',
    '"\\\\"',
    '"* *"',
    '"-"',
    '","',
    '"\\""',
    "\\",
    "/",
    "..",
    "*?*",
)
_SOMETHING = ("cmd.exe", "*.exe", "com", '"a b"', "corp\\bob", ".")
_REFUSED = frozenset({"join", "tag"})
_FIELDS = tuple(
    field.name
    for field in PROCESS.fields
    if field.kind not in _REFUSED and RARITIES.isdisjoint(field.sources)
)


def empty_queries(seed: int) -> Iterator[str]:
    """Queries without end, of one to five leaves of which most ask for nothing."""
    draw = random.Random(seed)
    while True:
        leaves = [_leaf(draw) for _ in range(draw.randrange(1, 6))]
        yield draw.choice((" ", " OR ")).join(leaves)


def _leaf(draw: random.Random) -> str:
    field = "" if draw.random() < 0.3 else draw.choice(_FIELDS) + ":"
    value = draw.choice(_NOTHING if draw.random() < 0.8 else _SOMETHING)
    return f"{draw.choice(('', '', '', '-'))}{field}{value}"

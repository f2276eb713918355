"""Metadata of stored rows as the segment assigner writes them: whole groups, each with a rank."""

import random
from typing import Any

from vedette.model.columns import CLAIMS
from vedette.model.metadata_rank import GROUP_OF, GROUPS, Rank, claim_key, whole_claims

WON = claim_key(Rank.CREATION, 1_000)
LOST = claim_key(Rank.OTHERS, 1)
LIE = "\x7fzz:\\zz\\lie-1.exe"
"""Greater than other texts in tests, so that a merge by the greatest value would keep it."""


def claimed(values: dict[str, Any]) -> dict[str, Any]:
    """Values with ranks where they have none: the lowest, of values from no source."""
    return whole_claims(dict(values), values, {}) if values else {}


def shared_out(draw: random.Random, values: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """Metadata of `count` partial rows that merge to `values`: each value and each group in some of
    them, and worse claims with greater values in others."""
    rows: list[dict[str, Any]] = [{} for _ in range(count)]
    for name, value in values.items():
        if name not in GROUP_OF:
            for place in draw.sample(range(count), draw.randrange(1, count + 1)):
                rows[place][name] = value
    for group in GROUPS:
        claim = {name: values[name] for name in group.columns if name in values}
        places = draw.sample(range(count), draw.randrange(1, count + 1))
        for place in range(count):
            if place in places:
                rows[place] |= {**claim, group.rank_column: WON}
            elif draw.random() < 0.7:
                rows[place] |= {**_lie(draw, group.name), group.rank_column: LOST}
    return rows


def _lie(draw: random.Random, group: str) -> dict[str, Any]:
    return {
        column.name: LIE if column.type == "text" else 2_000_000_000
        for column in CLAIMS[group]
        if column.name in GROUP_OF and draw.random() < 0.8
    }

"""The five levels of severity: a score of 0 to 100 in words, so that colour is never
all there is."""

from typing import Final

LEVELS: Final = ("critical", "high", "medium", "low", "info")
"""The gravest first."""

_LEAST: Final = {"critical": 80, "high": 60, "medium": 40, "low": 20, "info": 0}
"""Score from which on a level holds."""


def level_of(score: float) -> str:
    return next((level for level in LEVELS if score >= _LEAST[level]), "info")

"""The five severity levels: words for scores of 0 to 100, so that no meaning depends on color
alone."""

from typing import Final

LEVELS: Final = ("critical", "high", "medium", "low", "info")
"""Most severe first."""

_LEAST: Final = {"critical": 80, "high": 60, "medium": 40, "low": 20, "info": 0}
"""Lowest score of each level."""


def level_of(score: float) -> str:
    return next((level for level in LEVELS if score >= _LEAST[level]), "info")

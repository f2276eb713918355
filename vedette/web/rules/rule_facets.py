"""Facets of the list of Sigma rules: values to narrow the list by, with counts.

The address contains the selected values, repeated as needed: `level=high`, and `level=-low` to
exclude a value. Values derived from a rule's text (tactics, log source) are cached until the text
changes.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

import re2

from vedette import limits
from vedette.limits import Limit
from vedette.state.db.database import Database
from vedette.state.policy import rule_list
from vedette.state.policy.rule_list import ListedRule
from vedette.web.rules.attack_matrix import tactics_of_tags, techniques_of_tags

RULE_FACET_VALUES_MAX: Limit[int] = 30
"""Values shown per facet of Sigma rules. The public set has about 60 log sources, most with a
single rule."""


FACETS: Final[Mapping[str, str]] = {
    "level": "Level",
    "state": "Status",
    "tactic": "ATT&CK tactic",
    "technique": "ATT&CK technique",
    "logsource": "Log source",
    "kind": "Type",
}
"""Maps name in the address to heading."""

_SOURCE: Final = re2.compile(r"(?m)^logsource:(.*\n(?:[ \t]+.*\n)*)")
_PART: Final = re2.compile(r"\b(product|category|service)\s*:\s*['\"]?([\w.-]+)")

Chosen = Mapping[str, tuple[frozenset[str], frozenset[str]]]
"""Selected values by facet: (values to include, any of which suffices; values to exclude)."""


@dataclass(frozen=True, slots=True)
class FacetedRule:
    """A rule with its values by facet."""

    id: str
    values: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Value:
    """A facet value with its count and the addresses of its buttons."""

    text: str
    count: int
    how: str
    """`included`, `excluded` or ""."""
    include: str
    exclude: str
    only: str


def faceted(database: Database, listed: Sequence[ListedRule]) -> list[FacetedRule]:
    """Returns the listed rules with their facet values."""
    if len(_SAID) > 2 * limits.SIGMA_RULES_MAX:
        _SAID.clear()
    unread = [one for one in listed if (one.id, one.generation) not in _SAID]
    texts = rule_list.texts(database, [one.id for one in unread])
    for one in unread:
        _SAID[one.id, one.generation] = facets_of_text(texts.get(one.id, ""))
    return [_faceted(one) for one in listed]


_SAID: Final[dict[tuple[str, int], Mapping[str, tuple[str, ...]]]] = {}
"""Cache of facet values from rule texts, by (rule id, generation)."""


def _faceted(one: ListedRule) -> FacetedRule:
    of_text = _SAID.get((one.id, one.generation)) or facets_of_text("")
    values = {"level": (one.level,), "state": (one.state,), "kind": (one.kind,)}
    return FacetedRule(one.id, {**values, **of_text})


def chosen(pairs: Iterable[tuple[str, str]]) -> Chosen:
    """Returns the selected values in an address."""
    found: dict[str, tuple[set[str], set[str]]] = {name: (set(), set()) for name in FACETS}
    for name, value in pairs:
        if name in found and value:
            left_out = value.startswith("-")
            found[name][left_out].add(value.removeprefix("-"))
    return {name: (frozenset(some), frozenset(not_)) for name, (some, not_) in found.items()}


def narrowed(rules: Sequence[FacetedRule], wanted: Chosen) -> list[str]:
    """Returns the ids of the rules that match the selection of all facets, in list order."""
    return [one.id for one in rules if all(_takes(one, name, wanted) for name in FACETS)]


def rail(
    rules: Sequence[FacetedRule], wanted: Chosen, pairs: Sequence[tuple[str, str]]
) -> dict[str, list[Value]]:
    """Returns the values of each facet, counted over the rules that match the other facets, so that
    an excluded value can be selected again."""
    found = {}
    for name in FACETS:
        others = [other for other in FACETS if other != name]
        counted: Counter[str] = Counter()
        for one in rules:
            if all(_takes(one, other, wanted) for other in others):
                counted.update(one.values[name])
        some, not_ = wanted[name]
        counted.update(dict.fromkeys((some | not_) - counted.keys(), 0))
        shown = counted.most_common(RULE_FACET_VALUES_MAX)
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


def facets_of_text(text: str) -> dict[str, tuple[str, ...]]:
    """Returns the facet values from a rule's text: tactics, techniques and log source."""
    source = _SOURCE.search(text)
    parts = dict(_PART.findall(source[1])) if source else {}
    written = "/".join(parts.get(part, "") for part in ("product", "category", "service"))
    return {
        "tactic": tactics_of_tags(text),
        "technique": tuple(sorted(techniques_of_tags(text))),
        "logsource": (written.strip("/"),) if parts else (),
    }

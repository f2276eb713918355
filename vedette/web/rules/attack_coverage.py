"""Counts the rules that cover each ATT&CK technique, by tactic of the matrix."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from vedette.web.rules.attack_matrix import TACTICS, attack_matrix, by_tactic, techniques_of_tags


@dataclass(frozen=True, slots=True)
class CoveredTechnique:
    """A technique that at least one rule names."""

    id: str
    name: str
    """"" for a technique outside the matrix."""
    rules: int
    blind: int
    """Number of those rules whose log source does not arrive."""
    hits: int
    """Hits of those rules."""


@dataclass(frozen=True, slots=True)
class CoveredTactic:
    """A tactic with the techniques that rules name."""

    name: str
    """"" for techniques outside the matrix."""
    technique_count: int
    """Number of techniques of the tactic in the matrix."""
    hits: int
    """Hits of rules that name a technique of the tactic; each rule counts once."""
    techniques: tuple[CoveredTechnique, ...]


def attack_coverage(rules: Iterable[tuple[str, int, bool]]) -> list[CoveredTactic]:
    """Counts rules, given as (text, hits, whether its log source is missing), by the tactics that
    the matrix assigns to their techniques. Ignores the tactics that a rule's tags name."""
    matrix = attack_matrix()
    rule_counts: Counter[str] = Counter()
    blind_counts: Counter[str] = Counter()
    hit_counts: Counter[str] = Counter()
    tactic_hits: Counter[str] = Counter()
    for text, hits, is_blind in rules:
        ids = techniques_of_tags(text)
        rule_counts.update(ids)
        blind_counts.update(dict.fromkeys(ids, int(is_blind)))
        hit_counts.update(dict.fromkeys(ids, hits))
        tactic_hits.update(dict.fromkeys(by_tactic(ids), hits))
    sizes = Counter(tactic for each in matrix.techniques.values() for tactic in each.tactics)
    covered = by_tactic(sorted(rule_counts))
    return [
        CoveredTactic(
            name=matrix.tactic_names.get(tactic, ""),
            technique_count=sizes[tactic],
            hits=tactic_hits[tactic],
            techniques=tuple(
                CoveredTechnique(
                    id=id_,
                    name=matrix.techniques[id_].name if id_ in matrix.techniques else "",
                    rules=rule_counts[id_],
                    blind=blind_counts[id_],
                    hits=hit_counts[id_],
                )
                for id_ in covered.get(tactic, ())
            ),
        )
        for tactic in (*TACTICS, "")
        if tactic or "" in covered
    ]

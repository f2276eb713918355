"""ATT&CK coverage follows the matrix, whatever tactics a rule's tags name."""

from vedette.web.rules.attack_coverage import CoveredTactic, attack_coverage
from vedette.web.rules.attack_matrix import TACTICS, attack_matrix, tactics_of_tags
from vedette.web.rules.rule_facets import facets_of_text


def covered(*rules: tuple[str, int], blind: int = 0) -> dict[str, CoveredTactic]:
    rows = [(text, hits, at < blind) for at, (text, hits) in enumerate(rules)]
    return {tactic.name: tactic for tactic in attack_coverage(rows)}


def tagged(*tags: str) -> str:
    return "title: x\ntags:\n" + "".join(f"    - attack.{tag}\n" for tag in tags)


def test_a_technique_stands_under_its_own_tactics_only() -> None:
    rule = tagged("defense-evasion", "stealth", "credential-access", "t1003.001", "t1112")

    tactics = covered((rule, 3))

    assert [one.id for one in tactics["Credential Access"].techniques] == ["T1003.001"]
    under = {name for name, tactic in tactics.items() if tactic.techniques}
    assert under == {
        attack_matrix().tactic_names[tactic]
        for id_ in ("T1003.001", "T1112")
        for tactic in attack_matrix().techniques[id_].tactics
    }


def test_a_technique_has_its_name_and_that_of_its_parent() -> None:
    [technique] = covered((tagged("t1003.001"), 0))["Credential Access"].techniques

    assert technique.name == "OS Credential Dumping: LSASS Memory"


def test_the_hits_of_a_rule_count_once_for_a_tactic() -> None:
    rules = (tagged("t1003.001", "t1003.002"), 5), (tagged("T1003.001"), 2)

    tactic = covered(*rules)["Credential Access"]

    assert tactic.hits == 7
    assert {one.id: (one.rules, one.hits) for one in tactic.techniques} == {
        "T1003.001": (2, 7),
        "T1003.002": (1, 5),
    }


def test_a_technique_that_is_not_in_the_matrix_is_shown_apart() -> None:
    tactics = covered((tagged("t9999", "execution"), 1))

    assert [one.id for one in tactics[""].techniques] == ["T9999"]
    assert not tactics["Execution"].techniques


def test_rules_without_events_are_counted() -> None:
    tactics = covered((tagged("t1059", "execution"), 0), (tagged("t1059"), 3), blind=1)

    (technique,) = tactics["Execution"].techniques
    assert (technique.rules, technique.blind) == (2, 1)


def test_without_such_techniques_there_is_no_such_row() -> None:
    assert [tactic.name for tactic in attack_coverage([])] == [
        attack_matrix().tactic_names[tactic] for tactic in TACTICS
    ]


def test_the_order_of_tactics_names_each_tactic_of_the_matrix_once() -> None:
    assert sorted(TACTICS) == sorted(attack_matrix().tactic_names)


def test_a_tag_of_an_earlier_version_is_still_a_tactic_of_the_rule() -> None:
    assert tactics_of_tags(tagged("defense_evasion", "execution")) == (
        "execution",
        "defense-evasion",
    )


def test_the_techniques_of_a_rule_are_a_facet() -> None:
    facets = facets_of_text(tagged("t1003.001", "execution", "T1059"))

    assert facets["technique"] == ("T1003.001", "T1059")
    assert facets["tactic"] == ("execution",)

"""The source with the better rank decides what a process is, whatever the order of arrival."""

import random
from itertools import permutations
from typing import Any

import pytest

from vedette.model.ids import unknown_parent_id
from vedette.model.metadata_rank import RANK_COLUMNS, Rank, merge_ranked, ranked

SEED = 20_261_123


def merged(*claims: dict[str, Any]) -> dict[str, Any]:
    known: dict[str, Any] = {}
    for claim in claims:
        merge_ranked(known, claim)
    return known


def shown(*claims: dict[str, Any]) -> dict[str, Any]:
    found = {
        tuple(sorted((k, v) for k, v in merged(*order).items() if k not in RANK_COLUMNS))
        for order in permutations(claims)
    }
    assert len(found) == 1
    return dict(found.pop())


@pytest.mark.parametrize("better", list(Rank)[1:])
def test_the_better_rank_wins_with_the_smaller_value_and_the_later_time(better: Rank) -> None:
    good = ranked({"path": "C:\\a.exe", "username": "CORP\\ann"}, better, 9_000)
    bad = ranked({"path": "C:\\z.exe", "username": "CORP\\zoe"}, Rank(better - 1), 1_000)
    assert shown(good, bad) == {"path": "C:\\a.exe", "username": "CORP\\ann"}


def test_of_one_rank_the_earlier_event_wins_and_then_the_value() -> None:
    early = ranked({"path": "a"}, Rank.CREATION, 1_000)
    late = ranked({"path": "b"}, Rank.CREATION, 2_000)
    unknown_time = ranked({"path": "c"}, Rank.CREATION, 0)
    assert shown(early, late, unknown_time) == {"path": "a"}
    assert shown(late, ranked({"path": "z"}, Rank.CREATION, 2_000)) == {"path": "z"}


def test_hashes_of_another_source_do_not_join_a_path() -> None:
    own = ranked({"path": "C:\\cmd.exe", "process_name": "cmd.exe"}, Rank.CREATION, 5)
    liar = ranked(
        {"path": "C:\\x.exe", "process_name": "x.exe", "process_md5": "f" * 32}, Rank.OTHERS, 1
    )
    assert shown(own, liar) == {"path": "C:\\cmd.exe", "process_name": "cmd.exe"}


def test_a_claim_without_a_path_does_not_hide_one() -> None:
    nameless = ranked({"process_md5": "a" * 32}, Rank.CREATION, 1)
    own = ranked({"path": "C:\\a.exe"}, Rank.OWN, 5)
    assert shown(nameless, own) == {"path": "C:\\a.exe"}


def test_an_unknown_parent_never_replaces_a_known_one() -> None:
    unknown = ranked({"parent_id": unknown_parent_id(1)}, Rank.CREATION, 1)
    known = ranked({"parent_id": "00000001-0000-0001-0000-000000000000"}, Rank.OTHERS, 9)
    assert shown(unknown, known)["parent_id"] == "00000001-0000-0001-0000-000000000000"


def test_what_is_known_of_a_parent_stays_as_long_as_the_parent_does() -> None:
    parent = "00000001-0000-0001-0000-000000000000"
    known = merged(ranked({"parent_id": parent}, Rank.OWN, 5), {"parent_md5": "a" * 32})
    merge_ranked(known, ranked({"parent_id": parent}, Rank.CREATION, 5))
    assert known["parent_md5"] == "a" * 32
    news = merge_ranked(known, ranked({"parent_id": parent[:-1] + "1"}, Rank.CREATION, 1))
    assert "parent_md5" not in known
    assert news["parent_md5"] == ""


def test_any_rank_replaces_what_an_older_version_stored() -> None:
    old = {"path": "C:\\z.exe", "process_name": "z.exe", "process_md5": "f" * 32}
    news = merge_ranked(old, ranked({"path": "C:\\a.exe"}, Rank.OWN, 5))
    assert old["path"] == "C:\\a.exe"
    assert news["process_name"] == news["process_md5"] == ""


def test_columns_without_a_source_take_the_greater_value() -> None:
    assert shown({"exit_status": "1"}, {"exit_status": "5"}) == {"exit_status": "5"}


def test_liars_change_nothing_of_a_process_whose_creation_is_known() -> None:
    dice = random.Random(SEED)
    truth = {
        "path": "C:\\Windows\\cmd.exe",
        "process_name": "cmd.exe",
        "process_md5": "a" * 32,
        "username": "CORP\\ann",
        "integrity_level": "Medium",
        "parent_id": "00000001-0000-0001-0000-000000000000",
        "start": 5_000,
    }
    names = sorted(truth)
    for round_number in range(300):
        liars = [
            ranked(
                {
                    name: dice.randrange(1, 9_999)
                    if name == "start"
                    else dice.choice("azZ~\U0010ffff")
                    for name in dice.sample(names, dice.randrange(1, len(names)))
                },
                dice.choice([Rank.GUESSED, Rank.OTHERS, Rank.OWN, Rank.OTHER_CREATION]),
                dice.choice([0, dice.randrange(1, 10_000)]),
            )
            for _ in range(6)
        ]
        claims = [*liars, ranked(truth, Rank.CREATION, dice.randrange(1, 10_000))]
        dice.shuffle(claims)
        known = merged(*claims)
        assert {name: known[name] for name in names} == truth, f"seed {SEED}, {round_number}"


def test_liars_alone_are_believed_the_same_in_any_order() -> None:
    dice = random.Random(SEED)
    names = ["path", "process_md5", "username", "uid", "cmdline", "parent_id", "start"]
    for _ in range(60):
        claims = [
            ranked(
                {
                    name: dice.randrange(1, 4) if name == "start" else dice.choice("abc")
                    for name in dice.sample(names, dice.randrange(1, 5))
                },
                dice.choice(list(Rank)),
                dice.choice([0, 1, 2]),
            )
            for _ in range(4)
        ]
        assert len({str(sorted(merged(*order).items())) for order in permutations(claims)}) == 1

"""Which processes filters mean, and what is left of their events."""

from dataclasses import replace
from typing import Any

import pytest

from vedette.ingest.filter import FilterEvaluator, Subject, apply_filters, compile_filters
from vedette.ingest.filter.evaluate import dropped_whole
from vedette.model.address import pack_address
from vedette.model.event import (
    BinarySeen,
    Childproc,
    Crossproc,
    Facts,
    Filemod,
    Kept,
    Modload,
    Netconn,
    Outcome,
    Regmod,
)
from vedette.record.objects.ingress_filter import IngressFilter

WINDOWS = Subject(7, 2, "windows", False)
SHELL = r"C:\Windows\cmd.exe"
MD5 = "ab" * 16


def facts(path: str = SHELL, parent: str = "", **more: str) -> dict[str, Any]:
    return {"path": path, "parent_id": parent, **more}


def verdicts(
    *filters: IngressFilter,
    claims: dict[str, dict[str, Any]],
    known: dict[str, dict[str, Any]] | None = None,
    subject: Subject = WINDOWS,
) -> dict[str, int]:
    judge = FilterEvaluator(compile_filters(filters), lambda name: (known or {}).get(name, {}))
    return judge.evaluate(dict.fromkeys(claims, subject), claims).verdicts


def dropped(wanted: IngressFilter, claims: dict[str, Any], subject: Subject = WINDOWS) -> bool:
    return bool(verdicts(wanted, claims={"p": claims}, subject=subject))


@pytest.mark.parametrize(
    ("wanted", "claims", "is_dropped"),
    [
        ({"path_filters": (r"*\cmd.exe",)}, facts(), True),
        ({"path_filters": (r"*\sh.exe",)}, facts(), False),
        ({"cmdline_filters": ("/c echo",)}, facts(cmdline="cmd /c echo 1"), True),
        ({"md5_filters": (MD5,)}, facts(process_md5=MD5), True),
        ({"path_filters": (r"*\cmd.exe",), "cmdline_filters": ("x",)}, facts(cmdline="y"), False),
        ({"path_filters": (r"*\cmd.exe",), "md5_filters": (MD5,)}, facts(process_md5=MD5), True),
        ({}, facts(), False),
        ({"enabled": False, "path_filters": ("*",)}, facts(), False),
        ({"filter_on_server": False, "path_filters": ("*",)}, facts(), False),
        ({"os_mask": 6, "path_filters": ("*",)}, facts(), False),
        ({"os_mask": 1, "path_filters": ("*",)}, facts(), True),
        ({"is_global": False, "path_filters": ("*",)}, facts(), False),
        ({"is_global": False, "group_ids": (2,), "path_filters": ("*",)}, facts(), True),
        ({"is_global": False, "group_ids": (3,), "path_filters": ("*",)}, facts(), False),
        ({"is_global": False, "sensor_ids": (7,), "path_filters": ("*",)}, facts(), True),
        (
            {"is_global": False, "group_ids": (2,), "sensor_ids": (8,), "path_filters": ("*",)},
            facts(),
            False,
        ),
    ],
)
def test_a_filter_matches_what_fits_all_its_lists_on_its_sensors(
    wanted: dict[str, Any], claims: dict[str, Any], is_dropped: bool
) -> None:
    assert dropped(IngressFilter("x", **wanted), claims) is is_dropped


def test_a_sensor_that_takes_filters_applies_its_own() -> None:
    wanted = IngressFilter("x", path_filters=("*",), filter_on_sensor=True)
    assert dropped(wanted, facts())
    assert not dropped(wanted, facts(), WINDOWS._replace(takes_filters=True))


TREE = {
    "a": facts("/a"),
    "b": facts("/b", "a"),
    "c": facts("/c", "b"),
    "d": facts("/d", "c"),
}


@pytest.mark.parametrize(
    ("level", "matched"), [(0, "a"), (1, "ab"), (2, "abc"), (3, "abcd"), (-1, "abcd")]
)
def test_descendants_are_matched_down_to_the_level(level: int, matched: str) -> None:
    wanted = IngressFilter("x", path_filters=("/a",), descendant_filtering_level=level)
    assert "".join(sorted(verdicts(wanted, claims=TREE))) == matched


def test_a_parent_of_an_earlier_commit_counts() -> None:
    wanted = IngressFilter("x", path_filters=("/a",), descendant_filtering_level=-1)
    claims = {"d": TREE["d"]}
    assert verdicts(wanted, claims=claims, known=TREE) == {"d": dropped_whole(0)}


def test_a_parent_that_only_its_child_knows_counts() -> None:
    wanted = IngressFilter("x", path_filters=("/a",), descendant_filtering_level=1)
    claims = {"b": facts("/b", "a", parent_path="/a")}
    assert verdicts(wanted, claims=claims) == {"b": dropped_whole(0)}


def test_a_chain_that_bites_its_tail_ends() -> None:
    wanted = IngressFilter("x", path_filters=("/x",), descendant_filtering_level=-1)
    assert verdicts(wanted, claims={"a": facts("/a", "b"), "b": facts("/b", "a")}) == {}


def test_hits_count_processes_meant_by_themselves_also_of_filters_that_are_off() -> None:
    filters = [
        IngressFilter("on", path_filters=("/a",), descendant_filtering_level=-1),
        IngressFilter("off", enabled=False, path_filters=("/a", "/b")),
        IngressFilter("silent", enabled=False, track_metrics=False, path_filters=("*",)),
    ]
    judge = FilterEvaluator(compile_filters(filters), lambda _: {})
    matched = judge.evaluate(dict.fromkeys(TREE, WINDOWS), TREE)
    assert (matched.evaluated, matched.hits) == (4, {"on": 1, "off": 2})


def test_what_becomes_known_of_a_process_later_counts_from_then_on() -> None:
    filters = compile_filters([IngressFilter("x", cmdline_filters=("noise",))])
    known: dict[str, dict[str, Any]] = {"p": facts()}
    judge = FilterEvaluator(filters, lambda name: known.get(name, {}))
    assert judge.evaluate({"p": WINDOWS}, {}).verdicts == {}
    claims = {"p": {"cmdline": "make noise"}}
    assert judge.evaluate({"p": WINDOWS}, claims).verdicts == {"p": dropped_whole(0)}
    known["p"] |= claims["p"]
    assert judge.evaluate({"p": WINDOWS}, {}).verdicts == {"p": dropped_whole(0)}


def binary() -> BinarySeen:
    return BinarySeen(1, MD5, "", "", "/a", {})


def test_all_that_is_the_process_own_goes_and_nothing_else() -> None:
    filters = compile_filters([IngressFilter("x", path_filters=("*",))])
    others: list[Outcome] = [
        binary(),
        Kept(1, "c", 1, 1, "", {}),
        Childproc("parent", 1, 1, 0, "p"),
        Crossproc("other", 1, 1, "p"),
    ]
    own: list[Outcome] = [Facts("p", 1, {}), Filemod("p", 1, 1, "/x"), Childproc("p", 1, 1, 0, "q")]
    assert apply_filters([*own, *others], {"p": dropped_whole(0)}, filters) == others


def netconn(address: str, domain: str = "") -> Netconn:
    return Netconn("p", 1, 1, 6, bytes(16), 0, pack_address(address), 443, domain)


@pytest.mark.parametrize(
    ("name", "pattern", "gone", "stays"),
    [
        ("regmod_filters", r"\\run\\", Regmod("p", 1, 2, r"a\Run\b"), Regmod("p", 1, 2, "c")),
        ("modload_filters", r"^/lib", Modload("p", 1, "/lib/x"), Modload("p", 1, "/opt/lib/x")),
        ("filemod_filters", r"\.exe$", Filemod("p", 1, 1, "a.exe"), Filemod("p", 1, 1, "a.txt")),
        ("non_binary_filemod_filters", "a", Filemod("p", 1, 1, "a"), Filemod("p", 1, 1, "a.dll")),
        ("netconn_filters", r"^10\.0\.0\.1:443$", netconn("10.0.0.1"), netconn("10.0.0.2")),
        ("netconn_filters", r"^10\.0\.0\.1$", netconn("10.0.0.1"), netconn("10.0.0.12")),
        ("netconn_filters", r"\.update\.", netconn("1.1.1.1", "a.update.b"), netconn("1.1.1.1")),
        ("crossproc_filters", "l", Crossproc("p", 1, 2, "q", "lsass"), Crossproc("p", 1, 2, "q")),
    ],
)
def test_single_events_go_by_the_list_of_their_kind(
    name: str, pattern: str, gone: Outcome, stays: Outcome
) -> None:
    wanted = IngressFilter("x", path_filters=("/p",), filter_all_events=False, **{name: (pattern,)})
    filters = compile_filters([wanted])
    claims: list[Outcome] = [Facts("p", 1, {}), gone, stays]
    bits = verdicts(wanted, claims={"p": facts("/p")})
    assert apply_filters(claims, bits, filters) == [claims[0], stays]


def test_a_filter_of_events_without_processes_means_every_process() -> None:
    wanted = IngressFilter("x", filter_all_events=False, netconn_filters=("^10",))
    assert list(verdicts(wanted, claims={"p": facts()})) == ["p"]


def test_an_event_list_counts_only_for_the_processes_of_its_filter() -> None:
    first = IngressFilter("a", path_filters=("/a",), filter_all_events=False, regmod_filters=("r",))
    second = IngressFilter(
        "b", path_filters=("/b",), filter_all_events=False, regmod_filters=("s",)
    )
    filters = compile_filters([first, second])
    judge = FilterEvaluator(filters, lambda _: {})
    claims = {"a": facts("/a"), "b": facts("/b")}
    bits = judge.evaluate(dict.fromkeys(claims, WINDOWS), claims).verdicts
    of_a = Regmod("a", 1, 2, "s")
    assert apply_filters([of_a, Regmod("b", 1, 2, "s")], bits, filters) == [of_a]


def test_children_follow_what_becomes_known_of_an_ancestor_later() -> None:
    wanted = IngressFilter("x", path_filters=("/a",), descendant_filtering_level=-1)
    known: dict[str, dict[str, Any]] = {}
    judge = FilterEvaluator(compile_filters([wanted]), lambda name: known.get(name, {}))

    def judged(claims: dict[str, dict[str, Any]]) -> list[str]:
        subjects = dict.fromkeys([*claims, "c"], WINDOWS)
        found = judge.evaluate(subjects, claims).verdicts
        known.update({name: {**known.get(name, {}), **facts} for name, facts in claims.items()})
        return sorted(found)

    assert judged({"c": TREE["c"]}) == []
    assert judged({"b": TREE["b"]}) == []
    assert judged({"a": {"path": "/", "parent_id": ""}}) == []
    assert judged({"a": {"path": "/a"}}) == ["a", "c"]
    assert judged({}) == ["c"]


@pytest.mark.parametrize(
    ("priority", "more", "is_dropped"),
    [
        (1, {}, False),
        (0, {}, True),
        (-1, {}, True),
        (1, {"path_filters": ("/other",)}, True),
        (1, {"enabled": False}, True),
        (1, {"filter_on_sensor": True}, True),
        (1, {"is_global": False, "group_ids": (3,)}, True),
    ],
)
def test_a_pass_through_of_higher_priority_exempts_its_processes(
    priority: int, more: dict[str, Any], is_dropped: bool
) -> None:
    members = {"path_filters": (SHELL,), "filter_on_server": False, "priority": priority} | more
    both = IngressFilter("a", **members), IngressFilter("b", path_filters=("*",))
    assert bool(verdicts(*both, claims={"p": facts()})) is is_dropped


def test_a_pass_through_exempts_descendants_and_not_from_a_filter_above_it() -> None:
    passing = IngressFilter(
        "a", path_filters=("/a",), filter_on_server=False, priority=1, descendant_filtering_level=1
    )
    claims = {"a": facts("/a"), "b": facts("/b", "a"), "c": facts("/c", "b")}
    everything = IngressFilter("b", path_filters=("*",))
    assert verdicts(passing, everything, claims=claims) == {"c": dropped_whole(1)}
    above = IngressFilter("c", path_filters=("/b",), priority=2)
    found = verdicts(passing, everything, above, claims=claims)
    assert found == {"b": dropped_whole(0), "c": dropped_whole(2)}


def test_a_pass_through_of_events_exempts_them_alone() -> None:
    lists = {"path_filters": ("/p",), "filter_all_events": False}
    passing = IngressFilter(
        "a", **lists, filemod_filters=("keep",), filter_on_server=False, priority=1
    )
    dropping = IngressFilter("b", **lists, filemod_filters=(".*",))
    claims = {"p": facts("/p")}
    filters, bits = compile_filters([passing, dropping]), verdicts(passing, dropping, claims=claims)
    kept, gone = Filemod("p", 1, 1, "/keep"), Filemod("p", 2, 1, "/gone")
    assert apply_filters([kept, gone], bits, filters) == [kept]
    same = replace(passing, priority=0)
    filters, bits = compile_filters([same, dropping]), verdicts(same, dropping, claims=claims)
    assert apply_filters([kept, gone], bits, filters) == []


def test_what_is_dropped_names_the_filter_of_the_highest_priority_that_drops_it() -> None:
    whole = IngressFilter("whole", path_filters=("/w",), priority=1)
    also = IngressFilter("also", path_filters=("/w*",))
    single = IngressFilter("z", filter_all_events=False, filemod_filters=("gone",))
    wanted = (single, also, whole)
    filters = compile_filters(wanted)
    assert [one.id for one in filters.filters] == ["whole", "also", "z"]
    bits = verdicts(*wanted, claims={"w": facts("/w"), "w2": facts("/w2"), "p": facts("/p")})
    own, second, gone = (Filemod(one, 1, 1, "/gone") for one in ("w", "w2", "p"))
    stays = Filemod("p", 2, 1, "/stays")
    dropped: list[tuple[Outcome, int]] = []
    assert apply_filters([own, second, gone, stays], bits, filters, dropped) == [stays]
    assert dropped == [(own, 0), (second, 1), (gone, 2)]

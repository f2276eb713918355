"""On-sensor ingress filters (docs/ingress-filters.md): the same meaning as on the server."""

from pathlib import Path
from typing import Any

import pytest

from vedette.sensor.events.filters import (
    AppliedFilter,
    Filters,
    Subject,
    connection_subject,
    file_subject,
    is_dropped,
)
from vedette.sensor.events.process_table import Process

ALL = Subject()


def process(path: str = "/usr/bin/x", cmdline: str = "x") -> Process:
    made = Process(5, 1)
    made.path, made.cmdline = path, cmdline
    return made


def filters(folder: Path, *bodies: dict[str, Any]) -> Filters:
    made = Filters(folder / "filters.json")
    made.replace(3, [{"id": f"f{at}", **body} for at, body in enumerate(bodies)])
    return made


def applied_filters(
    made: Filters, subject: Process, *parents: AppliedFilter, md5: str = ""
) -> tuple[AppliedFilter, ...]:
    return made.applied_to(subject, md5, parents)


def test_every_list_has_to_fit(tmp_path: Path) -> None:
    made = filters(tmp_path, {"path_filters": ["*/x", "*/y"], "cmdline_filters": ["noise"]})
    assert is_dropped(applied_filters(made, process(cmdline="x --noise")), ALL)
    assert not is_dropped(applied_filters(made, process()), ALL)
    assert not is_dropped(applied_filters(made, process("/usr/bin/z", "noise")), ALL)


def test_a_hash_in_any_case_fits(tmp_path: Path) -> None:
    made = filters(tmp_path, {"md5_filters": ["AB" * 16]})
    assert is_dropped(applied_filters(made, process(), md5="ab" * 16), ALL)


@pytest.mark.parametrize(("levels", "depths"), [(0, 0), (1, 1), (2, 2), (-1, 9)])
def test_descendants_follow_to_the_level(tmp_path: Path, levels: int, depths: int) -> None:
    made = filters(tmp_path, {"path_filters": ["*/x"], "descendant_filtering_level": levels})
    inherited, dropped = applied_filters(made, process()), 0
    for _ in range(9):
        inherited = applied_filters(made, process("/bin/child"), *inherited)
        dropped += is_dropped(inherited, ALL)
    assert dropped == depths


def test_lists_of_events_drop_those_events_only(tmp_path: Path) -> None:
    made = filters(
        tmp_path,
        {
            "filter_all_events": False,
            "path_filters": ["*/x"],
            "non_binary_filemod_filters": ["/var/log/"],
            "netconn_filters": ["^10[.]"],
        },
    )
    found = applied_filters(made, process())
    assert is_dropped(found, file_subject("/var/log/x.log", 0))
    assert not is_dropped(found, file_subject("/var/log/x.so", 0))
    assert not is_dropped(found, file_subject("/var/log/x", 2))
    assert is_dropped(found, connection_subject("10.0.0.1", 80))
    assert not is_dropped(found, connection_subject("110.0.0.1", 80))
    assert not is_dropped(found, ALL)


@pytest.mark.parametrize(
    "body", [{"cmdline_filters": ["(a+)+"]}, {}, {"path_filters": 5}, {"md5_filters": 5}]
)
def test_a_filter_that_cannot_be_enforced_is_refused_whole(
    tmp_path: Path, body: dict[str, Any]
) -> None:
    made = filters(tmp_path, body, {"path_filters": ["*/x"]})
    assert (len(made), list(made.refused)) == (1, ["f0"])


def test_filters_are_kept_over_a_restart(tmp_path: Path) -> None:
    filters(tmp_path, {"path_filters": ["*/x"]})
    again = Filters(tmp_path / "filters.json")
    assert (len(again), again.version) == (1, 3)


def test_a_filter_that_is_gone_binds_no_descendants(tmp_path: Path) -> None:
    made = filters(tmp_path, {"path_filters": ["*/x"], "descendant_filtering_level": -1})
    inherited = applied_filters(made, process())
    made.replace(4, [])
    assert applied_filters(made, process("/bin/child"), *inherited) == ()

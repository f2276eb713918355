"""A filter is tried on one event that somebody typed in."""

from typing import Any

import pytest

from vedette.ingest.filter import SampleEvent, try_event
from vedette.record.objects.ingress_filter import IngressFilter

GCC = IngressFilter("gcc", path_filters=("/opt/*", "/usr/lib/gcc/*"), cmdline_filters=("-O2",))


def lists(wanted: IngressFilter, **sample: Any) -> dict[str, str | None]:
    return {one.name: one.entry for one in try_event(wanted, SampleEvent(**sample)).lists}


def test_each_list_says_which_entry_fits_and_one_that_does_not_keeps_the_process() -> None:
    path, cmdline = "/usr/lib/gcc/cc1", "cc1 -O2 x.c"
    found = try_event(GCC, SampleEvent(path=path, cmdline=cmdline))
    assert (found.means_process, found.dropped) == (True, "process")
    assert lists(GCC, path=path, cmdline=cmdline) == {
        "path_filters": "/usr/lib/gcc/*",
        "cmdline_filters": "-O2",
    }
    assert try_event(GCC, SampleEvent(path=path)).dropped == ""
    assert lists(GCC, path=path)["cmdline_filters"] is None


def test_a_child_goes_with_its_parent_where_the_filter_means_children() -> None:
    sample = SampleEvent(path="/bin/sh", parent_path="/usr/lib/gcc/cc1", parent_cmdline="-O2")
    assert try_event(GCC, sample).dropped == ""
    wide = IngressFilter(
        "g", path_filters=GCC.path_filters, cmdline_filters=("-O2",), descendant_filtering_level=-1
    )
    found = try_event(wide, sample)
    assert (found.means_process, found.means_parent, found.dropped) == (False, True, "process")


@pytest.mark.parametrize(
    ("name", "pattern", "kind", "gone", "stays"),
    [
        ("regmod_filters", r"\\run\\", "regmod", r"hkcu\Run\x", r"hkcu\other"),
        ("modload_filters", "^/lib", "modload", "/lib/x.so", "/opt/x.so"),
        ("filemod_filters", r"\.exe$", "filemod", "a.exe", "a.txt"),
        ("non_binary_filemod_filters", "^a", "filemod", "a.txt", "a.exe"),
        ("netconn_filters", r"^10\.0\.0\.1:443$", "netconn", "10.0.0.1:443", "10.0.0.1:80"),
        ("netconn_filters", r"^10\.0\.0\.1$", "netconn", "10.0.0.1:443", "10.0.0.12"),
        ("netconn_filters", "^fe80::1$", "netconn", "fe80::1", "fe80::2"),
        ("netconn_filters", r"\.update\.example$", "netconn", "a.update.example:443", "b.example"),
        ("crossproc_filters", "lsass", "crossproc", "lsass.exe", "x.exe"),
    ],
)
def test_single_events_go_by_the_list_of_their_kind(
    name: str, pattern: str, kind: Any, gone: str, stays: str
) -> None:
    wanted = IngressFilter("x", filter_all_events=False, **{name: (pattern,)})
    assert try_event(wanted, SampleEvent(kind=kind, value=gone)).dropped == "event"
    assert lists(wanted, kind=kind, value=gone) == {name: pattern}
    kept = try_event(wanted, SampleEvent(kind=kind, value=stays))
    assert kept.dropped == ""
    assert all(one.entry is None for one in kept.lists)


def test_a_filter_that_is_off_or_passes_is_tried_as_if_it_were_in_force() -> None:
    wanted = IngressFilter("x", md5_filters=("a" * 32,), enabled=False, filter_on_server=False)
    found = try_event(wanted, SampleEvent(md5="A" * 32))
    assert (found.dropped, found.lists[0].entry) == ("process", "a" * 32)

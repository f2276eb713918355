"""Ingress filters that options of a sensor group stand for: `event_exclusions` and
`filter_known_dlls` (docs/http-api.md#sensor-groups-and-sites).

They are in force as filters that people make are, and are never listed among them.
"""

from collections.abc import Iterator
from typing import Any, Final

from vedette.model.group import EventExclusion, GroupOptions
from vedette.model.ingress_filter import IngressFilter

LIST_OF_EVENT: Final = {
    "crossproc": "crossproc_filters",
    "filemod": "filemod_filters",
    "filemod-non-binary": "non_binary_filemod_filters",
    "modload": "modload_filters",
    "netconn": "netconn_filters",
    "regmod": "regmod_filters",
}
"""The list of a filter by the name of an event in `eventsToIgnore`."""

WITHOUT_EFFECT: Final = "process-info"
"""An event to ignore that is stored and changes nothing: without it there is no process."""

_ANY: Final = (".",)

_KNOWN_DLLS: Final = (
    "advapi32", "bcryptprimitives", "cfgmgr32", "clbcatq", "combase", "comdlg32", "coml2",
    "crypt32", "difxapi", "gdi32", "gdi32full", "gdiplus", "imagehlp", "imm32", "kernel32",
    "kernelbase", "msctf", "msvcp_win", "msvcrt", "normaliz", "nsi", "ntdll", "ole32", "oleaut32",
    "psapi", "rpcrt4", "sechost", "setupapi", "shcore", "shell32", "shlwapi", "ucrtbase", "user32",
    "win32u", "wintrust", "wldap32", "wow64", "wow64base", "wow64con", "wow64cpu", "wow64win",
    "ws2_32",
)  # fmt: skip
"""What Windows lists as `KnownDLLs`, and what those load themselves: Windows maps them from its own
folders whatever folder a program looks in, so that nobody can put another file in their place."""

_KNOWN_DLL_PATH: Final = (
    rf"^[a-z]:\\windows\\(system32|syswow64|sysarm32)\\({'|'.join(_KNOWN_DLLS)})\.dll$"
)


def is_excluded_path(path: str) -> bool:
    """Whether it can be a path of `event_exclusions`: a glob as a path of a filter is, and not what
    a filter would take for an expression."""
    looks_like_expression = path.startswith(("regex:", "^")) or path.endswith("$")
    return path.isprintable() and path != "" and not looks_like_expression


def group_filters(group_id: int, options: GroupOptions) -> list[IngressFilter]:
    """The filters of a group. Their ids have a dot, which ids that people choose have not."""
    found = list(_of_exclusions(group_id, options.event_exclusions))
    if options.filter_known_dlls:
        found.append(_filter(group_id, "known-dlls", modload_filters=(_KNOWN_DLL_PATH,)))
    return found


def _of_exclusions(
    group_id: int, exclusions: tuple[EventExclusion, ...]
) -> Iterator[IngressFilter]:
    for number, one in enumerate(exclusions, 1):
        lists = {
            LIST_OF_EVENT[name]: _ANY for name in one.events_to_ignore if name in LIST_OF_EVENT
        }
        paths = tuple(filter(is_excluded_path, one.paths))
        if paths and lists:  # a filter without paths would mean every process
            yield _filter(
                group_id,
                f"exclusion-{number}",
                filter_on_sensor=True,
                path_filters=paths,
                **lists,
            )


def _filter(group_id: int, name: str, **members: Any) -> IngressFilter:
    return IngressFilter(
        id=f"group-{group_id}.{name}",
        is_global=False,
        group_ids=(group_id,),
        filter_all_events=False,
        track_metrics=False,
        **members,
    )

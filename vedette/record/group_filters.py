"""Ingress filters derived from options of a sensor group: `event_exclusions` and
`filter_known_dlls` (docs/api-sensor-groups.md).

They apply like filters that users create, but are not listed.
"""

from collections.abc import Iterator
from typing import Any, Final

from vedette.model.group import LIST_OF_EVENT, is_excluded_path
from vedette.record.objects.ingress_filter import IngressFilter
from vedette.record.objects.sensor_group import EventExclusion, GroupOptions

_ANY: Final = (".",)

_KNOWN_DLLS: Final = (
    "advapi32",
    "bcryptprimitives",
    "cfgmgr32",
    "clbcatq",
    "combase",
    "comdlg32",
    "coml2",
    "crypt32",
    "difxapi",
    "gdi32",
    "gdi32full",
    "gdiplus",
    "imagehlp",
    "imm32",
    "kernel32",
    "kernelbase",
    "msctf",
    "msvcp_win",
    "msvcrt",
    "normaliz",
    "nsi",
    "ntdll",
    "ole32",
    "oleaut32",
    "psapi",
    "rpcrt4",
    "sechost",
    "setupapi",
    "shcore",
    "shell32",
    "shlwapi",
    "ucrtbase",
    "user32",
    "win32u",
    "wintrust",
    "wldap32",
    "wow64",
    "wow64base",
    "wow64con",
    "wow64cpu",
    "wow64win",
    "ws2_32",
)
"""Windows `KnownDLLs` and the DLLs that these load. Windows always maps them from its own folders,
regardless of the search path, so another file cannot replace them."""

_KNOWN_DLL_PATH: Final = (
    rf"^[a-z]:\\windows\\(system32|syswow64|sysarm32)\\({'|'.join(_KNOWN_DLLS)})\.dll$"
)


def group_filters(group_id: int, options: GroupOptions) -> list[IngressFilter]:
    """Returns the filters of a group. Their ids contain a dot, which ids chosen by users cannot."""
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
        if paths and lists:  # without paths the filter would select every process
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

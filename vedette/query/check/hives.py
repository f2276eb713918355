r"""SegmentAssigner hives by the names people use, as the kernel's names that are stored.

`HKLM\x` is stored as `\registry\machine\x`, `HKU\x` as `\registry\user\x`. `HKCU\x` lies below
`\registry\user\` and the SID of some user; `HKCR\x` is a view of the classes of the machine and
of each user, whose classes are a hive of their own with `_classes` behind the SID.
"""

from dataclasses import dataclass
from typing import Final

_MACHINE: Final = r"registry\machine"
_USER: Final = r"registry\user"
_CLASSES: Final = r"\software\classes"
_USER_CLASSES: Final = "_classes"

_HIVES: Final = {
    **dict.fromkeys(("hklm", "hkey_local_machine"), "hklm"),
    **dict.fromkeys(("hku", "hkey_users"), "hku"),
    **dict.fromkeys(("hkcr", "hkey_classes_root"), "hkcr"),
    **dict.fromkeys(("hkcu", "hkey_current_user"), "hkcu"),
}


@dataclass(frozen=True, slots=True)
class HivePath:
    """A stored path: `root`, then for a user's hive one part of any name, then `rest`."""

    root: str
    rest: str
    has_user: bool = False


def hive_paths(value: str) -> tuple[HivePath, ...]:
    r"""The stored paths that a folded registry value with single `\` names; () when it does not
    begin with the name of a hive. `HKLM:` as in PowerShell is understood."""
    name, separator, rest = value.partition("\\")
    match _HIVES.get(name.removesuffix(":")):
        case "hklm":
            return (HivePath(_MACHINE, separator + rest),)
        case "hku":
            return (HivePath(_USER, separator + rest),)
        case "hkcr":
            below = separator + rest
            return (
                HivePath(_MACHINE, _CLASSES + below),
                HivePath(_USER, _CLASSES + below, has_user=True),
                HivePath(_USER, _USER_CLASSES + below, has_user=True),
            )
        case "hkcu":
            return _of_current_user(separator + rest)
    return ()


def _of_current_user(rest: str) -> tuple[HivePath, ...]:
    plain = HivePath(_USER, rest, has_user=True)
    below = rest.removeprefix(_CLASSES)
    if below == rest or below[:1] not in ("", "\\", "*"):
        return (plain,)
    return plain, HivePath(_USER, _USER_CLASSES + below, has_user=True)

r"""Translates registry hives from their customary names to the kernel names that are stored.

`HKLM\x` is stored as `\registry\machine\x`, `HKU\x` as `\registry\user\x`. `HKCU\x` is below
`\registry\user\` and the SID of a user. `HKCR\x` is a view of the classes of the machine and of
each user; a user's classes are a separate hive with `_classes` appended to the SID.
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
    """A stored path: `root`, then, for a user's hive, one component of any name, then `rest`."""

    root: str
    rest: str
    has_user: bool = False


def hive_paths(value: str) -> tuple[HivePath, ...]:
    r"""Returns the stored paths for a folded registry value with single `\`; () if it does not
    start with the name of a hive. Accepts `HKLM:` as in PowerShell."""
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

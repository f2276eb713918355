r"""Windows and Unix file paths.

A Windows file has two names: with a drive (`C:\x`) and with an NT device
(`\device\harddiskvolume2\x`). The part after the drive or device, the tail, is the same.
"""

from vedette.model.memoize import memoize


@memoize(65_536)
def file_name(path: str) -> str:
    """Returns the last component of a Windows or Unix path, with its letter case. Cached."""
    return path[max(path.rfind("\\"), path.rfind("/")) + 1 :]


def split_device(path: str) -> tuple[str, str]:
    """Splits a path into NT device and tail, in lower case; ("", "") for a path without a
    device."""
    low = path.lower()
    if not low.startswith("\\device\\"):
        return "", ""
    cut = low.find("\\", 8)
    return (low[:cut], low[cut:]) if cut > 0 else ("", "")


def path_preference(path: str) -> tuple[bool, str]:
    """Sort key of the names of a file. A name with a drive is better than a name with an NT device.
    The order of other names is arbitrary but fixed, so the order of records does not matter."""
    return not split_device(path)[0] if path else False, path


def tail_of(path: str) -> str:
    """Returns the tail of a Windows path in lower case; other paths in lower case."""
    if path[1:3] == ":\\":
        return path[2:].lower()
    return split_device(path)[1] or path.lower()

r"""Windows and Unix file paths.

A Windows file has two names: with a drive (`C:\x`) and with an NT device
(`\device\harddiskvolume2\x`). The part after the drive or device, the tail, is the same.
"""

from vedette.model.memoize import memoize


@memoize(65_536)
def file_name(path: str) -> str:
    """Last component of a Windows or Unix path, case preserved. Cached."""
    return path[max(path.rfind("\\"), path.rfind("/")) + 1 :]


def split_device(path: str) -> tuple[str, str]:
    """NT device and tail in lower case; ("", "") for a path without a device."""
    low = path.lower()
    if not low.startswith("\\device\\"):
        return "", ""
    cut = low.find("\\", 8)
    return (low[:cut], low[cut:]) if cut > 0 else ("", "")


def path_preference(path: str) -> tuple[bool, str]:
    """Sort key of the names of one file: that with a drive is better than that with an NT device;
    any order of the others, so that the order of records does not matter."""
    return not split_device(path)[0] if path else False, path


def tail_of(path: str) -> str:
    """Tail of a Windows path in lower case; other paths unchanged in lower case."""
    if path[1:3] == ":\\":
        return path[2:].lower()
    return split_device(path)[1] or path.lower()

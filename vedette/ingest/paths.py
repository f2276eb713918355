r"""Paths of files as Windows and Unix write them.

Windows has two names for a file: with a drive (`C:\x`) and with an NT device
(`\device\harddiskvolume2\x`). What follows the drive or the device, the tail, is the same.
"""

from vedette.model.memoize import remembered


@remembered(65_536)
def file_name(path: str) -> str:
    """Last part of a Windows or Unix path, as written."""
    return path[max(path.rfind("\\"), path.rfind("/")) + 1 :]


def split_device(path: str) -> tuple[str, str]:
    """NT device and tail, both in lower case; ("", "") for a path without a device."""
    low = path.lower()
    if not low.startswith("\\device\\"):
        return "", ""
    cut = low.find("\\", 8)
    return (low[:cut], low[cut:]) if cut > 0 else ("", "")


def tail_of(path: str) -> str:
    """What both names of a Windows file share, in lower case; other paths whole."""
    if path[1:3] == ":\\":
        return path[2:].lower()
    return split_device(path)[1] or path.lower()

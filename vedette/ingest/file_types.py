"""File types by extension, for sources that do not read file content.

The numbers are those of docs/api-objects.md#process-events, which the sensor determines from the
content.
"""

from typing import Final

PE, ELF, MACH_O = 1, 2, 3
EXECUTABLE: Final = frozenset({PE, ELF, MACH_O})

_EXTENSIONS: Final[tuple[tuple[int, str], ...]] = (
    (PE, "exe dll sys ocx scr cpl drv efi com"),
    (ELF, "so ko"),
    (MACH_O, "dylib bundle"),
    (16, "doc dot xls xlt ppt pps pot"),
    (17, "docx docm dotx dotm xlsx xlsm xlsb xltx xltm pptx pptm ppsx ppsm potx potm"),
    (48, "pdf"),
    (64, "zip jar war ear apk nupkg"),
    (65, "lzh lha"),
    (66, "z"),
    (67, "rar"),
    (68, "tar"),
    (69, "7z"),
)
_TYPES: Final = {name: number for number, names in _EXTENSIONS for name in names.split()}


def file_type_of(path: str) -> int:
    """Returns the file type for the path's extension; 0 if unknown. Only a hint: the writer of a
    file chooses its name."""
    dot = path.rfind(".", -6)
    return _TYPES.get(path[dot + 1 :].lower(), 0) if dot >= 0 else 0

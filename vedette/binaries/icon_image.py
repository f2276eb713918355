"""The icon of a PE file as PNG, re-encoded so that no byte of the file reaches a browser."""

import io
import struct
import warnings
from itertools import islice
from typing import Any

from PIL import Image

from vedette.binaries.file_facts import Problems
from vedette.limits import Limit

ICON_PIXELS_MAX: Limit[int] = 512 * 512
"""Pixels of an icon that is re-encoded; the largest icons of real programs have 256 x 256."""

ICON_BYTES_MAX: Limit[int] = 1024 * 1024
"""Bytes of an icon in the file, and as PNG."""

ICONS_TRIED_MAX: Limit[int] = 16
"""Icons of one file that are tried in the search for the largest valid one."""


def largest_icon(resources: Any, problems: Problems) -> bytes:
    """Returns the largest icon that can be re-encoded; empty if there is none."""
    try:
        icons = [_size_and_file(one) for one in islice(resources.icons, ICONS_TRIED_MAX)]
    except Exception as error:  # noqa: BLE001 - the file decides what goes wrong
        problems.add("icons", repr(error))
        return b""
    for _, file in sorted(icons, reverse=True):
        try:
            if drawn := _png(file):
                return drawn
        except Exception as error:  # noqa: BLE001
            problems.add("icon", repr(error))
    return b""


def _size_and_file(icon: Any) -> tuple[int, bytes]:
    """Returns (size in bits according to the icon's entry, an .ico file with only this icon)."""
    pixels = bytes(icon.pixels)
    if len(pixels) > ICON_BYTES_MAX:
        raise ValueError(f"{len(pixels)} bytes are too many")
    width, height, bits = icon.width or 256, icon.height or 256, icon.bit_count
    entry = struct.pack(
        "<BBBBHHII", width % 256, height % 256, 0, 0, 1, bits % 65536, len(pixels), 22
    )
    return width * height * bits, struct.pack("<HHH", 0, 1, 1) + entry + pixels


def _png(file: bytes) -> bytes:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with Image.open(io.BytesIO(file), formats=("ICO",)) as image:
            if image.width * image.height > ICON_PIXELS_MAX:
                raise ValueError(f"{image.width} x {image.height} pixels are too many")
            drawn = io.BytesIO()
            image.convert("RGBA").save(drawn, "PNG")
    return drawn.getvalue() if drawn.tell() <= ICON_BYTES_MAX else b""

"""Keys of host orders. They are the same on every page and have no other meaning on any page
(`tests/house/test_console_keys.py`)."""

from types import MappingProxyType
from typing import Final

ORDER_KEYS: Final = MappingProxyType(
    {
        "isolate": "i",
        "release": "l",
        "restart": "R",
        "flush": "U",
        "move": "M",
        "update": "W",
    }
)
"""Maps order to key."""

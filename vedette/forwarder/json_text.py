"""Records and their members as JSON, whatever text hosts put into them."""

import json
from typing import Any

import orjson


def json_of(value: Any) -> bytes:
    """JSON in UTF-8. What UTF-8 has no bytes for is replaced and numbers may have any size, since a
    record that cannot be written would hold up all behind it."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value, ensure_ascii=False).encode(errors="replace")

"""Writes records and their members as JSON, whatever text the hosts put into them."""

import json
from typing import Any

import orjson


def json_of(value: Any) -> bytes:
    """Returns JSON in UTF-8. Characters that UTF-8 cannot encode are replaced, and numbers may have
    any size, because a record that cannot be written would block all records behind it."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value, ensure_ascii=False).encode(errors="replace")

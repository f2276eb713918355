"""Formats orders for files (docs/api-binaries.md)."""

from collections.abc import Sequence
from typing import Any

from vedette.state.files.binary_orders import BinaryOrder, OrderedFile
from vedette.web.json.wire_values import instant, known_instant


def binary_request_body(
    file: OrderedFile, orders: Sequence[BinaryOrder], copied: int
) -> dict[str, Any]:
    """Returns the orders for a file. `orders` are sorted newest first; `copied` is the number of
    bytes available for download."""
    newest = orders[0].state if orders else "none"
    return {
        "md5": file.md5.upper(),
        "sha256": file.sha256.upper(),
        "state": "stored" if copied else newest,
        "copied_mod_len": copied,
        "requests": [
            {
                "id": one.id,
                "sensor_id": one.sensor_id,
                "hostname": one.hostname,
                "group": one.group,
                "requested_by": one.username,
                "state": one.state,
                "message": one.message,
                "requested": instant(one.created_us),
                "expires": instant(one.expires_us),
                "received": one.received,
                "ended": known_instant(one.ended_us),
            }
            for one in orders
        ],
    }

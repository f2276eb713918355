"""The orders for a file (docs/http-api.md#binaries)."""

from collections.abc import Sequence
from typing import Any

from vedette.api.schemas.wire_values import instant, known_instant
from vedette.state.files.binary_orders import BinaryOrder, OrderedFile


def binary_request_body(
    file: OrderedFile, orders: Sequence[BinaryOrder], copied: int
) -> dict[str, Any]:
    """`orders` from the newest on; `copied` is how many bytes can be downloaded."""
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

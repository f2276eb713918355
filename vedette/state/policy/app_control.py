"""The application-control server that watchlist hits are exported to (docs/api-objects.md).

Its token is sealed, and dropped when another server is named: a token must not go to a host that
somebody else chose.
"""

from dataclasses import dataclass, replace
from typing import Any, Final

import orjson
from sqlalchemy import Connection, select, update

from vedette.state.db.database import insert_new
from vedette.state.db.schema import VALUE

_NAME: Final = "platformserver"


@dataclass(frozen=True, slots=True)
class AppControl:
    """As stored. `sealed_token` "" for none."""

    server_url: str = ""
    is_verified: bool = True
    is_exporting: bool = False
    sealed_token: str = ""


def load(connection: Connection) -> AppControl:
    """The settings, or the defaults before anybody made them."""
    text = connection.scalar(select(VALUE.c.value).where(VALUE.c.name == _NAME))
    if text is None:
        return AppControl()
    found: dict[str, Any] = orjson.loads(text)
    return AppControl(
        found["server_url"], found["is_verified"], found["is_exporting"], found["sealed_token"]
    )


def change(
    connection: Connection,
    *,
    server_url: str | None = None,
    is_verified: bool | None = None,
    is_exporting: bool | None = None,
    sealed_token: str | None = None,
) -> AppControl:
    """Change what is given; the settings then."""
    known = load(connection)
    new = known
    if server_url is not None and server_url.lower() != known.server_url.lower():
        new = replace(new, server_url=server_url, sealed_token="")
    if is_verified is not None:
        new = replace(new, is_verified=is_verified)
    if is_exporting is not None:
        new = replace(new, is_exporting=is_exporting)
    if sealed_token is not None:
        new = replace(new, sealed_token=sealed_token)
    text = orjson.dumps(new).decode()
    connection.execute(insert_new(connection, VALUE), {"name": _NAME, "value": text})
    connection.execute(update(VALUE).where(VALUE.c.name == _NAME).values(value=text))
    return new

"""The application-control server to which watchlist hits are exported (docs/notifications.md).

Its token is sealed, and dropped when the server's address changes, so that the token never goes to
a host that another person chose.
"""

from dataclasses import asdict, dataclass, replace
from typing import Any, Final

import orjson
from sqlalchemy import Connection, select, update

from vedette.state.db.audit_log import CHANGED, SET, UNSET, Entry, note
from vedette.state.db.database import insert_new
from vedette.state.db.schema import VALUE

_NAME: Final = "platformserver"
_AUDITED: Final = {
    "server_url": "server_url",
    "is_verified": "ssl_certificate_verify",
    "is_exporting": "watchlist_export",
    "sealed_token": "auth_token",
}
"""Maps each field to the setting's name in the audit log."""


@dataclass(frozen=True, slots=True)
class AppControl:
    """Stored settings. `sealed_token` is "" for none."""

    server_url: str = ""
    is_verified: bool = True
    is_exporting: bool = False
    sealed_token: str = ""


def load(connection: Connection) -> AppControl:
    """Returns the settings, or the defaults if none are stored."""
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
    """Changes the given settings, writes an audit entry, and returns the resulting settings."""
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
    if new == known:
        return known
    note(connection, _audit_entry(known, new))
    text = orjson.dumps(new).decode()
    connection.execute(insert_new(connection, VALUE), {"name": _NAME, "value": text})
    connection.execute(update(VALUE).where(VALUE.c.name == _NAME).values(value=text))
    return new


def _audit_entry(known: AppControl, new: AppControl) -> Entry:
    """Returns an entry with the differing settings; `(set)` replaces the token."""
    before, after = asdict(known), asdict(new)
    differing = [name for name in before if before[name] != after[name]]
    for values in (before, after):
        values["sealed_token"] = SET if values["sealed_token"] else UNSET
    if "sealed_token" in differing and before["sealed_token"] == after["sealed_token"]:
        after["sealed_token"] = CHANGED
    return Entry(
        "change",
        "setting",
        _NAME,
        {_AUDITED[name]: before[name] for name in differing},
        {_AUDITED[name]: after[name] for name in differing},
    )

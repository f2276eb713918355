"""`server.json` in the data directory: address and tokens of the running server, for programs on
the same machine (`vedette import`, `vedette demo`).

Only the owner of the data directory can read it. Its tokens have the configured lifetime, are
renewed while the server runs, and are revoked when it stops.
"""

import json
import os
import socket
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

from vedette.errors import StartError
from vedette.state.accounts import tokens, users
from vedette.state.db.database import Database
from vedette.state.policy import groups

FILE_NAME = "server.json"

ELSEWHERE = 0

TOKEN_NAME = "programs on this machine"  # noqa: S105 - a name, not a secret


@dataclass(frozen=True, slots=True)
class LocalAccess:
    """The content of `server.json`."""

    url: str
    token: str
    """API token of an administrator; "" for none."""
    ingest_token: str
    certificate: str
    """Path of the certificate to trust; "" for plain HTTP."""
    pid: int
    """Process id of the server; `ELSEWHERE` for a server on another machine."""


class LocalTokens:
    """The tokens of `server.json`: issued at start, renewed while running, revoked at shutdown."""

    def __init__(self, database: Database, now_us: int, lifetime_us: int, data: Path) -> None:
        """Revokes tokens that a killed server left for this data directory, and issues new ones.
        They are valid for `lifetime_us`; 0: until revoked."""
        self._database = database
        self._name = _token_name(database, data)
        self._lifetime_us = lifetime_us
        self.api_ids: set[str] = set()
        """Ids of all API tokens issued here."""
        self._revoke_all(now_us)
        self._issue(now_us)

    def _issue(self, now_us: int) -> None:
        self._issued_us = now_us
        expires_us = now_us + self._lifetime_us if self._lifetime_us else 0
        admins = self._admins()
        self._admin_id = admins[0] if admins else 0
        self.api = ""
        if self._admin_id:
            new = tokens.NewToken("api", self._name, user_id=self._admin_id, expires_us=expires_us)
            issued = tokens.issue(self._database, new, now_us)
            self.api = issued.secret
            self.api_ids.add(issued.id)
        group_id = groups.DEFAULT_GROUP_ID
        new = tokens.NewToken("ingest", self._name, group_id=group_id, expires_us=expires_us)
        self.ingest = tokens.issue(self._database, new, now_us).secret

    def renew(self, now_us: int) -> bool:
        """Issues new tokens when half the lifetime is over, or when the owner of the API token is
        no longer an administrator. Returns whether it did. Earlier tokens stay valid until they
        expire, for running programs."""
        is_old = self._lifetime_us and now_us - self._issued_us >= self._lifetime_us // 2
        admins = self._admins()
        if not is_old and (self._admin_id in admins or not admins):
            return False
        self._issue(now_us)
        return True

    def _admins(self) -> list[int]:
        everybody = users.all_users(self._database)
        return [one.id for one in everybody if one.is_global_admin and one.is_enabled]

    def close(self, now_us: int) -> None:
        self._revoke_all(now_us)

    def _revoke_all(self, now_us: int) -> None:
        for token in tokens.all_tokens(self._database):
            if token.name == self._name and token.is_good(now_us):
                tokens.revoke(self._database, token.id, now_us)


def _token_name(database: Database, data: Path) -> str:
    """Returns the name of this server's tokens, unique among servers that share a database."""
    if not database.name:
        return TOKEN_NAME
    place = f"{socket.gethostname()}:{data.resolve()}"
    return f"{TOKEN_NAME}, {sha256(place.encode()).hexdigest()[:12]}"


def write_access(data: Path, access: LocalAccess) -> None:
    """Writes `server.json` atomically, readable by the owner only."""
    draft = data / f"{FILE_NAME}.new"
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
        json.dump(asdict(access), file)
    draft.replace(data / FILE_NAME)


def remove_access(data: Path) -> None:
    (data / FILE_NAME).unlink(missing_ok=True)


def read_access(data: Path) -> LocalAccess | None:
    """Returns the access to the server that runs on this data directory, or None.

    Raises StartError if this user cannot read the file.
    """
    try:
        access = LocalAccess(**json.loads((data / FILE_NAME).read_text()))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError) as error:
        raise StartError(f"{data / FILE_NAME} cannot be read: {error}") from None
    return access if _runs(access.pid) else None


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True

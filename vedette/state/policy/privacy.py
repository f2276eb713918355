"""Privacy options of sensor groups, and the key of pseudonyms.

The key is created when the first group hides data and never changes, so that equal values keep
equal pseudonyms. Anyone who can read the state database can test guessed values.
"""

import secrets
from base64 import b64decode, b64encode
from typing import Final

from sqlalchemy import select

from vedette.model.privacy import GroupPrivacy, Privacy
from vedette.state.db.database import Database, insert_new
from vedette.state.db.key_values import load as load_value
from vedette.state.db.schema import GROUP, VALUE
from vedette.state.policy.group_options import options_of

NOTHING_HIDDEN: Final = Privacy()

_KEY: Final = "privacy key"


def load(database: Database) -> Privacy:
    """Returns the current privacy options by group. Raises UnavailableError."""
    groups: dict[int, GroupPrivacy] = {}
    with database.reading() as connection:
        rows = connection.execute(select(GROUP.c.id, GROUP.c.options)).all()
    for group_id, text in rows:
        options = options_of(text)
        wanted = GroupPrivacy(options.pseudonymise_users, options.secret_patterns)
        if wanted != GroupPrivacy():
            groups[group_id] = wanted
    return Privacy(_key(database), groups) if groups else NOTHING_HIDDEN


def _key(database: Database) -> bytes:
    known = load_value(database, _KEY)
    if known is None:
        made = b64encode(secrets.token_bytes(32)).decode()
        with database.writing() as connection:
            connection.execute(insert_new(connection, VALUE), {"name": _KEY, "value": made})
        known = load_value(database, _KEY) or made
    return b64decode(known)

"""Signatures between servers: what is forged, overheard, old or for others is refused."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.started_state import open_started_state
from vedette.errors import UnauthorizedError
from vedette.servers.server_token import SCHEME, ServerTokens, is_digest_of
from vedette.state.db.database import Database
from vedette.state.db.key_values import save

NOW_US = 1_700_000_000_000_000
BODY = b"records"


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = open_started_state(tmp_path, NOW_US)
    yield database
    database.close()


def test_servers_of_one_database_trust_each_other(database: Database) -> None:
    header = ServerTokens(database).sign("one", "two", BODY, NOW_US)
    signed = ServerTokens(database).check(header, "two", NOW_US)
    assert signed.sender == "one"
    assert is_digest_of(signed.digest, BODY)
    assert not is_digest_of(signed.digest, BODY + b"!")


def test_a_signature_is_good_for_one_server_and_a_minute(database: Database) -> None:
    tokens = ServerTokens(database)
    header = tokens.sign("one", "two", BODY, NOW_US)
    with pytest.raises(UnauthorizedError, match="another server"):
        tokens.check(header, "three", NOW_US)
    for other_us in (NOW_US + 61_000_000, NOW_US - 61_000_000):
        with pytest.raises(UnauthorizedError, match="too old"):
            tokens.check(header, "two", other_us)


def test_a_server_of_another_database_is_refused(database: Database) -> None:
    header = ServerTokens(database).sign("one", "two", BODY, NOW_US)
    save(database, "server_secret", "b3RoZXI=")
    with pytest.raises(UnauthorizedError, match="wrong"):
        ServerTokens(database).check(header, "two", NOW_US)


@pytest.mark.parametrize("place", range(1, 6))
def test_no_part_of_a_signature_can_be_changed(database: Database, place: int) -> None:
    tokens = ServerTokens(database)
    fields = tokens.sign("one", "two", BODY, NOW_US).split(" ")
    fields[place] = fields[place][:-1] + ("0" if fields[place][-1] != "0" else "1")
    with pytest.raises(UnauthorizedError):
        tokens.check(" ".join(fields), "two", NOW_US)


@pytest.mark.parametrize(
    "header", ["", "Bearer x", SCHEME, f"{SCHEME} a b c d", f"{SCHEME} a two 1 d é", " " * 100]
)
def test_what_is_no_signature_is_refused(database: Database, header: str) -> None:
    with pytest.raises(UnauthorizedError):
        ServerTokens(database).check(header, "two", NOW_US)

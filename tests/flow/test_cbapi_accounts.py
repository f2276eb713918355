"""The public client `cbapi`, unmodified: users, teams, the license, and the errors that it makes of
answers (docs/clients.md)."""

import secrets
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from tests.support.served import Server, hire

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def made(cb: Any) -> Iterator[Any]:
    """A user that the client created; gone after the test if it still is there."""
    from cbapi.errors import ObjectNotFoundError
    from cbapi.response import User

    user = cb.create(User)
    user.username = f"cbapi-{secrets.token_hex(4)}"
    user.first_name, user.last_name = "Ann", "Example"
    user.email = "ann@example.test"
    user.password = "a quite long password"
    user.global_admin = False
    user.teams = []
    user.save()
    yield user
    with suppress(ObjectNotFoundError):
        cb.delete_object(f"/api/user/{user.username}")


def user_named(cb: Any, name: str) -> Any:
    """The user as the server has it now: the client remembers what it selected for a minute."""
    from cbapi.response import User

    user = cb.select(User, name, force_init=True)
    user.refresh()
    return user


def test_a_created_user_is_read_and_listed(cb: Any, made: Any) -> None:
    from cbapi.response import User

    found = user_named(cb, made.username)
    assert (found.first_name, found.email) == ("Ann", "ann@example.test")
    assert found.global_admin is False
    assert made.username in [one.username for one in cb.select(User)]


def test_an_edited_user_keeps_the_change(cb: Any, made: Any) -> None:
    user = user_named(cb, made.username)
    user.last_name = "Changed"
    user.save()
    assert user_named(cb, made.username).last_name == "Changed"


def test_a_deleted_user_is_not_found(cb: Any, made: Any) -> None:
    from cbapi.errors import ObjectNotFoundError
    from cbapi.response import User

    user_named(cb, made.username).delete()
    with pytest.raises(ObjectNotFoundError):
        user_named(cb, made.username).refresh()
    assert made.username not in [one.username for one in cb.select(User)]


def test_a_created_team_is_read_and_a_user_joins_it(cb: Any, made: Any) -> None:
    from cbapi.response import Team

    team = cb.create(Team)
    team.name = f"team-{secrets.token_hex(4)}"
    team.group_access = []
    team.save()
    assert cb.select(Team, team.id, force_init=True).name == team.name
    user = user_named(cb, made.username)
    user.add_team(team.id)
    user.save()
    assert [one["id"] for one in user_named(cb, made.username).teams] == [team.id]


def test_the_license_is_asked_for(cb: Any) -> None:
    assert cb.license_request()


def test_a_text_that_is_no_license_is_refused(cb: Any) -> None:
    from cbapi.errors import ClientError

    with pytest.raises(ClientError) as refused:
        cb.update_license("no license")
    assert refused.value.error_code == 400


def test_a_user_without_the_right_gets_403(server: Server, cb: Any, made: Any) -> None:
    from cbapi.errors import ClientError
    from cbapi.response import CbResponseAPI

    token = hire(server, f"weak-{secrets.token_hex(4)}", {})
    weak = CbResponseAPI(url=server.url, token=token, ssl_cert_file=str(server.certificate))
    with pytest.raises(ClientError) as refused:
        weak.delete_object(f"/api/user/{made.username}")
    assert refused.value.error_code == 403
    assert user_named(cb, made.username).username == made.username


def test_a_name_that_is_taken_is_409(cb: Any, made: Any) -> None:
    from cbapi.errors import ClientError

    body = {"username": made.username, "first_name": "B", "last_name": "C", "teams": []}
    body |= {"email": "b@example.test", "password": "a quite long password"}
    with pytest.raises(ClientError) as refused:
        cb.post_object("/api/user", {**body, "global_admin": False})
    assert refused.value.error_code == 409

"""The public client `cbapi`, unmodified: users, teams, the license, and the errors that it makes of
answers (docs/clients.md)."""

import secrets
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tests.flow.conftest import ONE_SERVER
from tests.support.served import Server, hire, start_server
from vedette.state.accounts import license as licenses

pytestmark = [ONE_SERVER, pytest.mark.filterwarnings("ignore")]


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


@pytest.fixture
def team(cb: Any) -> Any:
    """A team that the client created, without access to any group."""
    from cbapi.response import Team

    new = cb.create(Team)
    new.name = f"team-{secrets.token_hex(4)}"
    new.group_access = []
    new.save()
    return new


@pytest.fixture(scope="module")
def provider_key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The private key of who issues licenses; its public key lies beside it, as `.pub`."""
    folder = tmp_path_factory.mktemp("provider")
    key = Ed25519PrivateKey.generate()
    (folder / "key").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    (folder / "key.pub").write_bytes(
        key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    )
    return folder / "key"


@pytest.fixture(scope="module")
def licensing(provider_key: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that knows the provider's key."""
    known = f"license_provider_key={provider_key.with_suffix('.pub')}"
    yield from start_server(tmp_path_factory.mktemp("licensing"), "--set", known)


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


def team_with(cb: Any, team_id: int) -> Any:
    """The team as the server has it now."""
    from cbapi.response import Team

    found = cb.select(Team, team_id, force_init=True)
    found.refresh()
    return found


def test_an_edited_team_keeps_its_name_and_access(cb: Any, team: Any) -> None:
    changed = team_with(cb, team.id)
    changed.name = f"{team.name}-changed"
    changed.add_viewer_access(1)
    changed.save()
    found = team_with(cb, team.id)
    assert found.name == f"{team.name}-changed"
    assert [(one["group_id"], one["access_category"]) for one in found.group_access] == [
        (1, "Viewer")
    ]
    found.add_administrator_access(1)
    found.save()
    (access,) = team_with(cb, team.id).group_access
    assert access["access_category"] == "Administrator"


def test_a_deleted_team_is_gone_and_its_members_stay(cb: Any, made: Any, team: Any) -> None:
    from cbapi.errors import ObjectNotFoundError
    from cbapi.response import Team

    user = user_named(cb, made.username)
    user.add_team(team.id)
    user.save()
    team_with(cb, team.id).delete()
    with pytest.raises(ObjectNotFoundError):
        team_with(cb, team.id)
    assert team.id not in [one.id for one in cb.select(Team)]
    assert user_named(cb, made.username).teams == []


def test_a_license_is_applied(licensing: Server, provider_key: Path) -> None:
    from cbapi.errors import ClientError
    from cbapi.response import CbResponseAPI

    trusted = str(licensing.certificate)
    client = CbResponseAPI(url=licensing.url, token=licensing.token, ssl_cert_file=trusted)
    client.update_license(licenses.issue(provider_key, "*", 750, "2099-12-31"))
    status = client.get_object("/api/license")
    assert (status["license_valid"], status["licensed_sensor_count"]) == (True, 750)
    with pytest.raises(ClientError) as refused:
        client.update_license(licenses.issue(provider_key, "another-server", 9_000, ""))
    assert refused.value.error_code == 400
    assert client.get_object("/api/license") == status
    client.update_license(licenses.issue(provider_key, "*", 800, ""))
    (changed, first) = client.get_object("/api/v1/audit?kind=license")["results"]
    assert (first["before"], first["after"]) == (None, {"sensors": 750, "end": "2099-12-31"})
    assert (changed["before"], changed["after"]) == (first["after"], {"sensors": 800, "end": None})


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

"""Effective permissions of a user, as an administrator and the user read them."""

from tests.support.served import Server, hire, open_group
from tests.support.sysmon import story
from vedette.model.principal import Role


def test_the_rights_of_a_user_are_those_that_searches_have(server: Server) -> None:
    group, secret = open_group(server, "Effective")
    other, _ = open_group(server, "Never seen")
    with server.client(Authorization=f"Bearer {secret}") as client:
        records = story("effective.example").records
        assert client.post("/api/v1/ingest", json=records).is_success
    with server.sender() as client:
        records = story("of-nobody.example").records
        assert client.post("/api/v1/ingest", json=records).is_success
    token = hire(server, "eff", {group: Role.ANALYST, other: Role.NONE})
    with server.analyst() as client:
        found = client.get("/api/v1/user/eff/effective").json()
    assert found["groups"] == [
        {"group_id": group, "name": "Effective", "role": "Analyst", "hosts": 1}
    ]
    assert found["hosts"] == 1 < found["all_hosts"]
    assert "Never seen" in found["unseen_groups"]
    with server.client(**{"X-Auth-Token": token}) as client:
        assert client.get("/api/v2/sensor").json()["total_results"] == found["hosts"]
        own = client.get("/api/v1/user/eff/effective").json()
        assert own["groups"] == found["groups"]
        assert (own["unseen_groups"], own["all_hosts"]) == ([], 1)  # nothing of others
        assert client.get("/api/v1/user/admin/effective").status_code == 404
    with server.analyst() as client:
        assert client.put("/api/v1/user/eff", json={"enabled": False}).is_success
        off = client.get("/api/v1/user/eff/effective").json()
        assert (off["groups"], off["hosts"], off["enabled"]) == ([], 0, False)
        assert client.get("/api/v1/user/nobody/effective").status_code == 404


def test_an_administrator_sees_everything(server: Server) -> None:
    with server.analyst() as client:
        found = client.get("/api/v1/user/admin/effective").json()
    assert found["global_admin"] is True
    assert found["hosts"] == found["all_hosts"]
    assert {one["role"] for one in found["groups"]} == {"Administrator"}

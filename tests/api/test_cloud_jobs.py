"""Jobs of the cloud side: what one made is for who still may see it."""

import secrets

from tests.support.cloud import ORG
from tests.support.served import Server, hire, open_group, state_of, wait_for
from tests.support.sysmon import story
from vedette.model.principal import Role
from vedette.state.accounts import teams, users


def test_an_export_shows_no_host_that_its_owner_may_not_see_any_more(server: Server) -> None:
    word = secrets.token_hex(4)
    names = [f"kept-{word}.example", f"lost-{word}.example"]
    groups = {}
    for name in names:
        group_id, secret = open_group(server, name)
        groups[group_id] = Role.VIEWER
        with server.client(Authorization=f"Bearer {secret}") as sender:
            assert sender.post("/api/v1/ingest", json=story(name).records).json()["rejected"] == 0
    token = hire(server, f"exporter-{word}", groups)
    with server.client(**{"X-Auth-Token": token}) as client:
        path = f"/appservices/v6/orgs/{ORG}/devices/_export"
        job = client.post(path, json={}).json()
        path = f"/jobs/v1/orgs/{ORG}/jobs/{job['id']}/download"
        assert [name in client.get(path).text for name in names] == [True, True]
        kept, _ = groups
        with state_of(server) as database:
            team = teams.add(database, f"one group {word}", {kept: Role.VIEWER})
            left = users.UserChanges(team_ids=(team.id,))
            users.change(database, f"exporter-{word}", left)
        seen = lambda: [name in client.get(path).text for name in names]  # noqa: E731
        assert wait_for(seen, [True, False], 5) == [True, False]
        client.get(f"/appservices/v6/orgs/{ORG}/devices/_search/download?status=ALL")
    with server.analyst() as admin:
        wanted = {"author": f"exporter-{word}", "kind": "device export"}
        read = admin.get("/api/v1/audit", params=wanted).json()["results"]
    assert {one["target"] for one in read} == {"download", f"job {job['id']}"}

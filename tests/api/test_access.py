"""Parsing of credentials. `test_authorization.py` tests the permissions."""

import base64
from pathlib import Path

import httpx
import pytest

from tests.support.route_access import ACCESS
from tests.support.served import Server
from vedette.web.http.rights.right import Right

WITHOUT_TOKEN = {Right.OPEN, Right.IN_BODY}
WALKED = sorted(ACCESS)
PLACES = {
    "{process_id}": "00000001-0000-0000-0000-000000000000",
    "{segment_id}": "1",
    "{sensor_id}": "1",
    "{partition_name}": "no_such_partition",
    "{version}": "4",
    "{index}": "some-index",
    "{rest:path}": "x/y",
    "{file}": "docs.css",
    "{md5}": "12" * 16,
    "{sha256}": "34" * 32,
    "{query_id}": "1",
    "{filter_id}": "no-such-filter",
    "{group_id}": "1",
    "{site_id}": "1",
    "{alias}": "no-such-alias",
    "{name}": "no-such-rules",
    "{username}": "no-such-user",
    "{team_id}": "999999",
    "{token_id}": "NOSUCHTOKEN",
    "{entry_id}": "999999",
    "{session_id}": "NOSUCHSESSION",
    "{snapshot_id}": "no-such-snapshot",
    "{watchlist_id}": "2000000000",
    "{source_id}": "1",
    "{action}": "alert",
    "{action_id}": "1",
    "{policy_id}": "1",
    "{org_key}": "VEDETTE",
    "{role_id}": "999999",
    "{app_id}": "NOSUCHAPP",
    "{alert_id}": "00" * 16,
    "{note_id}": "00" * 16,
    "{job_id}": "999999",
    "{device_id}": "999999",
    "{provider_id}": "999999",
    "{identity_id}": "999999",
}


def call(client: httpx.Client, method: str, path: str) -> httpx.Response:
    for place, value in PLACES.items():
        path = path.replace(place, value)
    return client.request(method, path)


def test_an_unknown_token_is_401_everywhere(server: Server) -> None:
    with server.client(**{"X-Auth-Token": "0" * 40}) as client:
        answered = {one: call(client, *one).status_code for one in WALKED}
    wrong = {
        one: status
        for one, status in answered.items()
        if (status == 401) is (ACCESS[one] in WITHOUT_TOKEN)
    }
    assert wrong == {}


@pytest.mark.parametrize("scheme", ["Bearer {}", "bearer {}"])
def test_an_api_token_may_come_as_bearer(server: Server, scheme: str) -> None:
    with server.client(Authorization=scheme.format(server.token)) as client:
        assert client.get("/api/info").status_code == 200


@pytest.mark.parametrize(
    "header", ["Basic", "Basic !!!", "Basic aWQ6", "ApiKey bm9jb2xvbg==", "Digest x", "Bearer"]
)
def test_a_credential_that_holds_no_secret_is_401_and_asks_for_one(
    server: Server, header: str
) -> None:
    with server.client(Authorization=header) as client:
        answer, of_sender = client.get("/api/info"), client.get("/_license")
    assert (answer.status_code, of_sender.status_code) == (401, 401)
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert of_sender.headers["www-authenticate"].startswith("Basic")
    assert answer.json()["reason"] == "unauthorized"


def test_basic_is_accepted_from_senders_alone(server: Server) -> None:
    """A browser remembers it, and would send it with what another site asks."""
    pair = base64.b64encode(f"any:{server.token}".encode()).decode()
    with server.client(Authorization=f"Basic {pair}") as client:
        answered = {one: call(client, *one) for one in WALKED}
    of_senders = {Right.SEND, Right.HANDSHAKE}
    let_in = {
        one
        for one, answer in answered.items()
        if answer.status_code != 401 and ACCESS[one] not in WITHOUT_TOKEN | of_senders
    }
    assert let_in == set()
    refused = [one for one in WALKED if ACCESS[one] in of_senders]
    assert [one for one in refused if answered[one].status_code == 401] == []


def _printed(data: Path) -> dict[str, str]:
    """Returns the values that the first start printed, by label."""
    lines = (line.split() for line in (data / "server.log").read_text().splitlines())
    return {" ".join(words[:-1]): words[-1] for words in lines if len(words) >= 2}


def test_a_token_works_as_printed_wherever_a_token_may_stand(server: Server) -> None:
    printed = _printed(server.data)
    ingest, api = printed["ingest token"], printed["API token"]
    encoded = base64.b64encode(ingest.encode()).decode()
    secret = ingest.partition(":")[2]
    for headers in (
        {"Authorization": f"Bearer {ingest}"},
        {"Authorization": f"Bearer {secret}"},
        {"Authorization": f"ApiKey {ingest}"},
        {"Authorization": f"ApiKey {encoded}"},
        {"X-Auth-Token": ingest},
        {"X-Auth-Token": secret},
        {"Authorization": "Basic " + base64.b64encode(f"any:{secret}".encode()).decode()},
        {"Authorization": f"Basic {encoded}"},
    ):
        with server.client(**headers) as client:
            assert client.get("/_license").status_code == 200, headers
    for headers in ({"X-Auth-Token": api}, {"Authorization": f"Bearer {api}"}):
        with server.client(**headers) as client:
            assert client.get("/api/v1/process?rows=0").status_code == 200, headers


def test_a_secret_under_another_tokens_id_is_refused(server: Server) -> None:
    secret = _printed(server.data)["ingest token"].partition(":")[2]
    for headers in ({"X-Auth-Token": f"other:{secret}"}, {"Authorization": f"Bearer o:{secret}"}):
        with server.client(**headers) as client:
            assert client.get("/_license").status_code == 401, headers


def test_an_unknown_path_is_404_and_senders_find_an_index_there_with_head(server: Server) -> None:
    with server.analyst() as client:
        answer = client.get("/nosuch")
        assert (answer.status_code, answer.json()["reason"]) == (404, "not_found")
        assert client.get("/api/v1/nosuch").status_code == 404
    with server.sender() as client:
        assert (client.get("/logs-1").status_code, client.head("/logs-1").status_code) == (404, 200)
        assert client.put("/logs-1", json={}).json()["acknowledged"]

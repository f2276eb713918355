"""Time partitions over HTTP (docs/api-objects.md#time-partition)."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.support.served import start_server
from tests.support.sysmon import story

ROOT = "/api/v1/storage/events"


def listed(client: httpx.Client) -> dict[str, Any]:
    body: dict[str, Any] = client.get(f"{ROOT}/partition").json()
    return body


@pytest.fixture(scope="module")
def analyst(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """At a server of its own, which was sent a story: partitions with data are deleted."""
    for server in start_server(tmp_path_factory.mktemp("partitions")):
        with server.sender() as sender, server.analyst() as client:
            assert sender.post("/api/v1/ingest", json=story("a.example").records).is_success
            yield client


@pytest.fixture(scope="module")
def warm(analyst: httpx.Client) -> str:
    """The name of a partition that was just closed."""
    before = set(listed(analyst))
    assert analyst.post(f"{ROOT}/new_partition", json=None).status_code == 200
    (name,) = set(listed(analyst)) - before
    return name


def test_the_list_is_keyed_by_name_with_one_hot_writer(analyst: httpx.Client) -> None:
    body = listed(analyst)
    assert [name for name, one in body.items() if one["status"] == "hot"] == ["writer"]
    assert all(one["name"] == name and "partitionId" in one["info"] for name, one in body.items())
    assert body["writer"]["info"]["endDate"] is None


def test_a_partition_is_unmounted_and_mounted_again(analyst: httpx.Client, warm: str) -> None:
    assert analyst.post(f"{ROOT}/{warm}/unmount").status_code == 200
    assert listed(analyst)[warm]["status"] == "cold"
    assert "numDocs" not in listed(analyst)[warm]["info"]
    answer = analyst.post(f"{ROOT}/{warm}/mount")
    assert isinstance(answer.json()["results"], str)
    assert listed(analyst)[warm]["status"] == "warm"
    assert listed(analyst)[warm]["info"]["userMounted"] is True


def test_a_process_of_an_unmounted_partition_is_404_with_that_reason(
    analyst: httpx.Client, warm: str
) -> None:
    query = {"q": "process_name:whoami.exe"}
    (known,) = analyst.get("/api/v1/process", params=query).json()["results"]
    analyst.post(f"{ROOT}/{warm}/unmount")
    try:
        for path in ("/api/v1/process/{id}/0", "/api/v4/process/{id}/0/event"):
            answer = analyst.get(path.format(**known))
            assert (answer.status_code, answer.json()["reason"]) == (404, "partition_unmounted")
        assert analyst.get("/api/v1/process", params=query).json()["all_segments"] is False
    finally:
        analyst.post(f"{ROOT}/{warm}/mount")
    assert analyst.get(f"/api/v1/process/{known['id']}/0").status_code == 200


@pytest.mark.parametrize(("method", "path"), [("DELETE", "/writer"), ("POST", "/writer/unmount")])
def test_the_hot_partition_stays(analyst: httpx.Client, method: str, path: str) -> None:
    answer = analyst.request(method, ROOT + path)
    assert (answer.status_code, answer.json()["reason"]) == (409, "conflict")


def test_an_unknown_partition_is_404(analyst: httpx.Client) -> None:
    assert analyst.delete(f"{ROOT}/no_such").status_code == 404


def test_a_deleted_partition_is_gone(analyst: httpx.Client, warm: str) -> None:
    before = analyst.get("/api/v1/process", params={"rows": 0}).json()["total_results"]
    assert analyst.delete(f"{ROOT}/{warm}").status_code == 200
    assert warm not in listed(analyst)
    after = analyst.get("/api/v1/process", params={"rows": 0}).json()["total_results"]
    assert (before, after) == (4, 0)


def test_who_changed_and_deleted_which_partition_is_in_the_audit_log(
    analyst: httpx.Client, warm: str
) -> None:
    """After the tests before this one, which did it."""
    found = analyst.get("/api/v1/audit", params={"kind": "partition"}).json()["results"]
    reported = [
        (one["action"], one["author"], one["after"]) for one in found if one["target"] == warm
    ]
    assert ("change", "admin", {"state": "warm"}) in reported
    assert ("change", "admin", {"state": "cold"}) in reported
    (deleted,) = [one for one in found if one["action"] == "delete" and one["target"] == warm]
    assert deleted["before"]["rows"] > 0
    assert deleted["before"]["from"] < deleted["before"]["to"]
    assert not [one for one in found if one["target"] in ("no_such", "writer")]


def test_a_deletion_is_asked_before_what_it_takes_away(analyst: httpx.Client) -> None:
    before = set(listed(analyst))
    assert analyst.post(f"{ROOT}/new_partition").is_success
    (name,) = set(listed(analyst)) - before
    reported = analyst.delete(f"{ROOT}/{name}", params={"dry_run": "true"})
    assert reported.status_code == 200
    assert (reported.json()["dry_run"], reported.json()["segments"], reported.json()["days"]) == (
        True,
        0,
        [],
    )
    assert name in listed(analyst)
    asked = {"dry_run": "true"}
    assert analyst.delete(f"{ROOT}/writer", params=asked).status_code == 409
    assert analyst.delete(f"{ROOT}/no_such", params=asked).status_code == 404
    assert analyst.delete(f"{ROOT}/{name}").is_success
    assert name not in listed(analyst)

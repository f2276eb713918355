"""Files that an operator adds: a host that claims the hash of one opens it for nobody."""

import hashlib
import io
import os
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass

import httpx
import pytest

from tests.api.test_binary_reading import put, started
from tests.support.sensor import PlayedSensor, enrol, secret_of, sending_group
from tests.support.served import Server, hire, state_of, wait_for
from vedette.model.principal import Role
from vedette.state.accounts import audit_trail
from vedette.state.accounts.audit_trail import Search


@dataclass
class Claim:
    """A file, and a group of which a host claims to have it."""

    content: bytes
    reader: httpx.Client
    """Administers the group and sees nothing else."""
    sensor: PlayedSensor

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()

    @property
    def md5(self) -> str:
        return hashlib.md5(self.content).hexdigest()

    @property
    def path(self) -> str:
        return f"/api/v1/binary/{self.md5}"

    def reported(self) -> None:
        started(self.sensor, "/opt/claimed", self.md5, self.sha256)
        seen = self.path + "/summary"
        assert wait_for(lambda: self.reader.get(seen).status_code, 200) == 200

    def got(self) -> bytes | None:
        """Returns the content that the group's administrator can download, or None. All answers
        must agree."""
        answer = self.reader.get(self.path)
        content = None
        if answer.status_code == 200:
            with zipfile.ZipFile(io.BytesIO(answer.content)) as found:
                content = found.read("filedata")
        shown = self.reader.get(f"{self.path}/summary").json()["copied_mod_len"]
        listed = self.reader.get("/api/v1/binary", params={"q": f"md5:{self.md5}"}).json()
        assert shown == listed["results"][0]["copied_mod_len"] == len(content or b"")
        return content


@pytest.fixture
def claim(server: Server) -> Iterator[Claim]:
    mark = os.urandom(4).hex()
    group_id = sending_group(server, f"claims-{mark}")
    token = hire(server, f"claims-{mark}", {group_id: Role.ADMINISTRATOR})
    with server.client() as client, server.client(**{"X-Auth-Token": token}) as reader:
        sensor = enrol(client, f"claims-{mark}.example", secret_of(server, group_id))
        yield Claim(os.urandom(700), reader, sensor)


def add(client: httpx.Client, claim: Claim, **params: str) -> httpx.Response:
    return client.post("/api/v1/binary/file", params=params, content=claim.content)


def test_a_host_that_claims_the_hash_of_an_added_file_does_not_open_it_for_its_group(
    analyst: httpx.Client, claim: Claim
) -> None:
    assert add(analyst, claim, name="sample").status_code == 200
    claim.reported()
    assert claim.got() is None
    assert claim.reader.get(f"{claim.path}/request").json()["state"] == "none"
    assert add(claim.reader, claim, name="sample", shared="true").status_code == 403
    assert claim.got() is None
    assert analyst.get(claim.path).status_code == 200


def test_an_added_file_is_for_the_group_whose_sensor_sends_it_too(
    analyst: httpx.Client, claim: Claim
) -> None:
    assert add(analyst, claim, name="sample").status_code == 200
    claim.reported()
    offered = {"sha256": claim.sha256, "md5": claim.md5, "size": 700, "path": "/opt/claimed"}
    assert claim.sensor.post("binaries/offer", {"files": [offered]}).json()["want"]
    put(claim.sensor, claim.sha256, 0, claim.content)
    assert claim.got() == claim.content


def test_an_operator_shares_an_added_file_and_takes_it_back(
    server: Server, analyst: httpx.Client, claim: Claim
) -> None:
    assert add(analyst, claim, name="sample", shared="maybe").status_code == 400
    assert add(analyst, claim, name="sample", shared="true").status_code == 200
    assert claim.reader.get(claim.path).status_code == 404  # none of its hosts reports it
    claim.reported()
    assert claim.got() == claim.content
    assert add(analyst, claim, name="sample").status_code == 200
    assert claim.got() is None
    with state_of(server) as database:
        wanted = Search(kind="file copy", target=claim.sha256, action="create")
        found = audit_trail.search(database, wanted)[1][::-1]
    assert [(one.author, one.after) for one in found] == [
        ("admin", {"shared": True}),
        ("admin", {"shared": False}),
    ]

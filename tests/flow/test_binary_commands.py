"""Files and YARA rules by the command line, for a server that runs."""

import hashlib
import io
import os
import zipfile
from pathlib import Path

import pytest

from tests.flow.conftest import ONE_SERVER
from tests.support import commands
from tests.support.pe_file import pe_file
from tests.support.sensor import enrol, event, secret_of
from tests.support.served import Server, hire, open_group, wait_for
from vedette.clock import SystemClock
from vedette.model.principal import Role

pytestmark = ONE_SERVER

WAIT_S = 90


def vedette(server: Server, *words: str) -> commands.Ended:
    return commands.vedette(*words, "--data", server.data)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "added.exe"
    word = os.urandom(6).hex()
    path.write_bytes(pe_file(version={"ProductName": f"Added {word}"}) + os.urandom(64))
    return path


def test_an_added_file_is_described_and_where_it_is_shared_for_those_whose_hosts_report_it(
    server: Server, program: Path, tmp_path: Path
) -> None:
    content = program.read_bytes()
    md5, sha256 = hashlib.md5(content).hexdigest(), hashlib.sha256(content).hexdigest()
    empty, large = tmp_path / "empty", tmp_path / "large"
    empty.touch()
    large.touch()
    os.truncate(large, 26 * 2**20)
    done = vedette(server, "binary", "add", "--shared", str(program), str(empty), str(large))
    assert done.returncode == 1, done.stderr
    assert done.stdout.splitlines() == [f"{md5.upper()} {program}"]
    assert "empty" in done.stderr
    assert "25 MiB" in done.stderr
    path = f"/api/v1/binary/{md5}"
    group_id, _ = open_group(server, f"added-{md5[:8]}")
    token = hire(server, f"added-{md5[:8]}", {group_id: Role.VIEWER})
    with server.analyst() as admin, server.client(**{"X-Auth-Token": token}) as other:
        assert admin.get(f"{path}/summary").status_code == 200
        assert wait_for(lambda: "product_name" in admin.get(f"{path}/summary").json(), True, WAIT_S)
        body = admin.get(f"{path}/summary").json()
        assert body["product_name"].startswith("Added ")
        assert (body["host_count"], body["copied_mod_len"]) == (0, len(content))
        found_once = admin.get("/api/v1/binary", params={"q": f"md5:{md5}"}).json()
        assert found_once["total_results"] == 1
        assert other.get(f"{path}/summary").status_code == 404
        assert other.get(path).status_code == 404
        with server.client() as client:
            sensor = enrol(client, f"added-{md5[:8]}.example", secret_of(server, group_id))
            now_us = SystemClock().now_us()
            run = {"path": "c:\\added.exe", "cmdline": "a", "md5": md5, "sha256": sha256}
            sensor.send([event("start", now_us, 7, now_us, **run)])
        assert wait_for(lambda: other.get(path).status_code, 200, WAIT_S) == 200
        answer = other.get(path)
        with zipfile.ZipFile(io.BytesIO(answer.content)) as found:
            assert found.read("filedata") == content
        assert other.get(f"{path}/summary").json()["product_name"] == body["product_name"]
        assert vedette(server, "binary", "add", str(program)).returncode == 0
        assert other.get(path).status_code == 404
        assert other.get(f"{path}/summary").json()["copied_mod_len"] == 0
        assert admin.get(path).status_code == 200


def test_rules_are_added_listed_and_deleted(server: Server, tmp_path: Path) -> None:
    name = f"cli-{os.urandom(4).hex()}"
    path = tmp_path / f"{name}.yar"
    path.write_text("rule one { condition: false } rule two { condition: false }")
    done = vedette(server, "yara", "add", str(path))
    assert (done.returncode, done.stdout) == (0, f"{name}: 2 rules\n"), done.stderr
    assert name in vedette(server, "yara", "list").stdout
    with server.analyst() as client:
        assert client.get(f"/api/v1/yara/{name}").json()["username"] == "command line"
        assert vedette(server, "yara", "disable", name).returncode == 0
        assert client.get(f"/api/v1/yara/{name}").json()["state"] == "disabled"
        assert vedette(server, "yara", "enable", name).returncode == 0
        assert client.get(f"/api/v1/yara/{name}").json()["state"] == "in_force"
        assert vedette(server, "yara", "delete", name).returncode == 0
        assert client.get(f"/api/v1/yara/{name}").status_code == 404
    path.write_text("rule broken {")
    done = vedette(server, "yara", "add", str(path))
    assert done.returncode != 0
    assert "syntax" in done.stderr

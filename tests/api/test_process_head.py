"""Header of a process analysis: duration, programs executed, logon, and whether the program is
banned."""

import re
import time
from collections.abc import Iterator

import httpx
import pytest

from tests.support.page_text import tight
from tests.support.served import Server, start_server
from tests.support.sysmon import story

HOST = "head.example"
LINUX = "exec.example"
IMAGES = ("/usr/bin/bash", "/usr/bin/env", "/usr/bin/python3")


@pytest.fixture(scope="module")
def admin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    for server in start_server(tmp_path_factory.mktemp("head")):
        send(server)
        with server.analyst() as client:
            yield client


def send(server: Server) -> None:
    """A story on Windows; on Linux a pid that executes one image after the other, a second each,
    and one that had the pid long before."""
    began_s = int(time.time()) - 600
    calls = [(began_s - 90, 1, "/usr/bin/init", 0), (began_s - 80, 77, "/usr/bin/old", 1)]
    calls += [(began_s + at, 77, path, 1) for at, path in enumerate(IMAGES)]
    ended = {
        "ID": f"{began_s - 70}.000:9",
        "NODE": LINUX,
        "SYSCALL": {
            "syscall": 231,
            "SYSCALL": "exit_group",
            "success": "yes",
            "pid": 77,
            "ppid": 1,
            "uid": 0,
            "exe": "/usr/bin/old",
            "comm": "old",
        },
    }
    records = [
        {
            "ID": f"{at}.000:{at}",
            "NODE": LINUX,
            "SYSCALL": {
                "syscall": 59,
                "SYSCALL": "execve",
                "success": "yes",
                "pid": pid,
                "ppid": ppid,
                "uid": 0,
                "exe": path,
                "comm": path.rpartition("/")[2],
            },
        }
        for at, pid, path, ppid in calls
    ]
    with server.sender() as client:
        reported = [*records[:2], ended, *records[2:]]
        assert client.post("/api/v1/ingest", json=reported).json()["rejected"] == 0
        assert client.post("/api/v1/ingest", json=story(HOST).records).status_code == 200


def head(admin: httpx.Client, query: str, language: str = "en") -> tuple[str, str]:
    """The text and the markup of the strip of facts."""
    (row,) = admin.get("/api/v1/process", params={"q": query}).json()["results"]
    page = admin.get(f"/ui/process/{row['id']}", headers={"Accept-Language": language})
    assert page.status_code == 200, page.text
    strip = re.search(r'<dl class="strip">.*?</dl>', page.text, re.DOTALL)
    assert strip is not None
    return " ".join(re.sub(r"<[^>]+>", " ", strip[0]).split()), strip[0]


@pytest.mark.parametrize("name", ["bash", "env", "python3"])
def test_every_image_of_a_process_is_named_and_linked(admin: httpx.Client, name: str) -> None:
    text, strip = head(admin, f"hostname:{LINUX} process_name:{name}")
    assert "Executed images bash → env → python3" in text
    assert re.search(rf'<b aria-current="true"><bdi dir="ltr">{name}</bdi></b>', tight(strip))
    assert strip.count("/ui/process/0") == len(IMAGES) - 1
    assert ("Duration 1 s" in text) is (name != "python3")


def test_a_pid_that_is_used_again_is_another_process(admin: httpx.Client) -> None:
    text, _ = head(admin, f"hostname:{LINUX} process_name:old")
    assert "Executed images" not in text


def test_the_logon_is_named_and_leads_to_its_processes(admin: httpx.Client) -> None:
    text, strip = head(admin, f"hostname:{HOST} process_name:whoami.exe")
    assert "Logon 0x3e7" in text
    assert "logon_id%3A%220x3e7%22" in strip
    assert "Executed images" not in text


def test_a_banned_program_is_marked_until_the_ban_ends(admin: httpx.Client) -> None:
    query = f"hostname:{HOST} process_name:whoami.exe"
    (row,) = admin.get("/api/v1/process", params={"q": query}).json()["results"]
    assert "banned" not in head(admin, query)[0]
    md5 = row["process_md5"].lower()
    ban = {"md5hash": md5, "text": "x"}
    assert admin.post("/api/v1/banning/bannedlist", json=ban).status_code == 200
    text, strip = head(admin, query)
    assert "banned" in text
    assert f'href="/ui/bans/{md5}"' in strip
    assert "gesperrt" in head(admin, query, "de")[0]
    off = admin.put(f"/api/v1/banning/bannedlist/{md5}", json={"enabled": False})
    assert off.status_code == 200
    assert "banned" not in head(admin, query)[0]

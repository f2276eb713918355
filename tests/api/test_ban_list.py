"""The list of bans in the console: which program each is, and where the reader's hosts have it."""

import re
from collections.abc import Iterator

import pytest

from tests.support.page_text import tight
from tests.support.served import Server, hire, open_group, start_server
from tests.support.sysmon import story
from vedette import limits
from vedette.model.principal import Role

BASE = "/api/v1/banning/bannedlist"
NOWHERE = "ef" * 16


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    yield from start_server(tmp_path_factory.mktemp("bans"))


@pytest.fixture(scope="module")
def reader(server: Server) -> str:
    """The token of who sees one of the two hosts that have the program."""
    groups = {name: open_group(server, name) for name in ("mine", "theirs")}
    for name, (_, secret) in groups.items():
        with server.client(Authorization=f"Bearer {secret}") as client:
            records = story(f"{name}.bans.example").records
            assert client.post("/api/v1/ingest", json=records).status_code == 200
    return hire(server, "reader", {groups["mine"][0]: Role.VIEWER})


def listed(page: str) -> dict[str, tuple[str, str, str]]:
    """Name, path and hosts of each program of a page."""
    cells = (
        r'data-row="(\w+)".*?<td data-label="Program" class="name"(.*?)>(.*?)</td>'
        r'.*?<td data-label="Hosts"[^>]*>(.*?)</td>'
    )
    return {
        md5: (re.sub("<[^>]+>", "", name), title, hosts)
        for md5, title, name, hosts in re.findall(cells, tight(page))
    }


def test_a_ban_has_the_name_of_its_program_and_the_hosts_that_the_reader_sees(
    server: Server, reader: str
) -> None:
    md5 = story("mine.bans.example").powershell.md5
    with server.analyst() as admin:
        for one in (md5, NOWHERE):
            assert admin.post(BASE, json={"md5hash": one, "text": "x"}).status_code == 200
        all_of_it = listed(admin.get("/ui/bans").text)
    with server.client(**{"X-Auth-Token": reader}) as client:
        seen = listed(client.get("/ui/bans").text)
    path = r' title="C:\Windows\System32\WindowsPowerShell\v1.0\powershell.exe"'
    assert all_of_it == {md5: ("powershell.exe", path, "2"), NOWHERE: ("–", "", "0")}
    assert seen == {md5: ("powershell.exe", path, "1"), NOWHERE: ("–", "", "0")}


def test_many_bans_are_read_page_by_page(server: Server) -> None:
    many = [f"{number:032x}" for number in range(1, limits.PAGE_ROWS + 11)]
    with server.analyst() as admin:
        for one in many:
            assert admin.post(BASE, json={"md5hash": one, "text": "of many"}).status_code == 200
        pages = [admin.get(f"/ui/bans?q=of+many&start={at}").text for at in (0, limits.PAGE_ROWS)]
    assert [len(listed(page)) for page in pages] == [limits.PAGE_ROWS, 10]
    assert {one for page in pages for one in listed(page)} == set(many)
    assert 'rel="next"' in pages[0]
    assert 'rel="prev"' in pages[1]

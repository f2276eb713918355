"""A server that is killed while watchlists are asked: each hit is tagged and counted once."""

import random
import time
from pathlib import Path

from tests.fault.crash import forked
from tests.fault.rounds import rounds
from tests.support.served import listening, state_of, wait_for
from tests.support.sysmon import story
from vedette.feeds import indicators
from vedette.state.jobs import watermarks
from vedette.watchlists import rounds as watchlists

KILLS = rounds(2, 10)
FOLLOWERS = {watchlists.FOLLOWER: 0, indicators.FOLLOWER: 0}
HOSTS_A_LIFE = 3
ROUND_S = 5.0
TIMEOUT_S = 180.0


def test_killed_before_its_first_round_a_server_follows_from_its_first_start(
    tmp_path: Path,
) -> None:
    with forked(tmp_path) as process:
        server = listening(tmp_path, process)
        process.kill()
        process.wait()
    with state_of(server) as database:
        assert {name: watermarks.load(database, name) for name in FOLLOWERS} == FOLLOWERS


def test_killed_in_any_moment_no_hit_is_missed_or_counted_twice(tmp_path: Path) -> None:
    draw = random.Random(7)
    watched = ""
    for life in range(KILLS):
        with forked(tmp_path) as process:
            server = listening(tmp_path, process)
            if not watched:
                body = {"name": "w", "search_query": "q=process_name:powershell.exe"}
                with server.analyst() as client:
                    watched = client.post("/api/v1/watchlist", json=body).json()["id"]
            with server.sender() as sender:
                for host in range(HOSTS_A_LIFE):
                    records = story(f"kill-{life}-{host}.corp.example").records
                    assert sender.post("/api/v1/ingest", json=records).status_code == 200
            time.sleep(draw.random() * ROUND_S)
            process.kill()
            process.wait()
    with forked(tmp_path) as process:
        server = listening(tmp_path, process)
        expected = KILLS * HOSTS_A_LIFE
        with server.analyst() as client:

            def tags() -> str:
                found: str = client.get(f"/api/v1/watchlist/{watched}").json()["total_tags"]
                return found

            assert wait_for(tags, str(expected), TIMEOUT_S) == str(expected)
            query: dict[str, str | int] = {"q": f"watchlist_{watched}:*", "rows": expected}
            found = client.get("/api/v1/process", params=query).json()
            assert found["total_results"] == expected
            names = {row["hostname"] for row in found["results"]}
            assert len(names) == expected
            time.sleep(2 * ROUND_S)
            assert tags() == str(expected)

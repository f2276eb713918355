"""The list of ingress filters shows the detections that each blinds and the sensors that have not
fetched it."""

import os
import re
from typing import Any

import httpx

from tests.support.sensor import enrol, secret_of
from tests.support.served import Server, hire, open_group
from vedette.model.principal import Role

BASE = "/api/v1/ingress_approvedlist"
BLIND = [{"kind": "rule", "id": "<b>r"}, {"kind": "watchlist", "id": "7"}]


def row(client: httpx.Client, name: str) -> str:
    """Returns the text of a filter's row."""
    page = client.get("/ui/filters").text
    (found,) = [one for one in page.split("<tr ") if f'aria-label="{name}, ' in one]
    return " ".join(re.sub(r"<[^>]+>", " ", found).split())


def test_what_was_accepted_to_go_blind_stands_in_the_list(
    server: Server, analyst: httpx.Client
) -> None:
    name = f"blind-{os.urandom(3).hex()}"
    body: dict[str, Any] = {"id": name, "name": name, "path_filters": ["*/none"], "enabled": False}
    assert analyst.post(BASE, json=body | {"accepted_blind": BLIND}).is_success
    assert "2 rules and watchlists lose coverage" in row(analyst, name)
    assert analyst.put(f"{BASE}/{name}", json={"filter_on_sensor": True}).is_success
    assert "2 rules and watchlists lose coverage" in row(analyst, name)
    token = hire(server, f"viewer-{name}", {1: Role.VIEWER})
    with server.client(**{"X-Auth-Token": token}) as viewer:
        assert "coverage" not in row(viewer, name).replace(name, "")
    one = {"path_filters": ["*/other"], "accepted_blind": BLIND[:1]}
    assert analyst.put(f"{BASE}/{name}", json=one).is_success
    assert "1 rule or watchlist loses coverage" in row(analyst, name)
    assert analyst.put(f"{BASE}/{name}", json={"path_filters": ["*/narrow"]}).is_success
    assert "coverage" not in row(analyst, name).replace(name, "")
    assert analyst.delete(f"{BASE}/{name}").is_success


def test_sensors_that_have_not_fetched_a_filter_are_counted_of_those_one_sees(
    server: Server, analyst: httpx.Client
) -> None:
    name = f"sent-{os.urandom(3).hex()}"
    mine, theirs = (open_group(server, f"{name}-{one}")[0] for one in ("mine", "theirs"))
    with server.client() as client:
        sensors = [
            enrol(client, f"{name}-{at}.example", secret_of(server, group))
            for at, group in enumerate((mine, mine, theirs))
        ]
        for one in sensors:
            assert one.check_in().status_code == 200
        body = {
            **{"id": name, "name": name, "path_filters": ["*/none"], "global": False},
            **{"group_ids": [mine, theirs], "filter_on_sensor": True},
        }
        assert analyst.post(BASE, json=body).is_success
        token = hire(server, f"viewer-{name}", {mine: Role.VIEWER})
        with server.client(**{"X-Auth-Token": token}) as viewer:
            assert "pending on 3 of 3" in row(analyst, name)
            assert "pending on 2 of 2" in row(viewer, name)
            assert sensors[0].check_in().status_code == 200
            assert "pending on 2 of 3" in row(analyst, name)
            assert "pending on 1 of 2" in row(viewer, name)
            assert "current version on 1 of 2" in viewer.get(f"/ui/filters/{name}").text
            assert sensors[1].check_in().status_code == 200
            assert "pending on" not in row(viewer, name)
        some = {"sensor_ids": [sensors[2].id, 2**31 - 1]}
        assert analyst.put(f"{BASE}/{name}", json=some).is_success
        assert "pending on 1 of 1" in row(analyst, name)
    assert analyst.delete(f"{BASE}/{name}").is_success

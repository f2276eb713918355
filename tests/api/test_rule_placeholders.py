"""Placeholders of Sigma rules and versions of rules over HTTPS and on the command line."""

from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from tests.support.served import Server
from vedette.cli.rules.sigma import app
from vedette.limits import MEMBER_CHARS_MAX
from vedette.web.rules.models import SIGMA_PLACEHOLDER_VALUES_MAX

SIGMA = "/api/v1/sigma"
PLACEHOLDER = f"{SIGMA}/placeholder"
ID = "5c1f0a52-4a3e-4a56-9a33-0000000000{:02}"
RULE = """title: Logon of {name}
id: {id}
logsource:
  product: windows
  service: security
detection:
  selection:
    TargetUserName|expand: '%{name}%'
  condition: selection
"""


def rule(number: int, name: str) -> str:
    return RULE.format(id=ID.format(number), name=name)


def logon(user: str) -> dict[str, Any]:
    return {
        "@timestamp": "2026-01-01T00:00:00Z",
        "host": {"name": "h.example"},
        "winlog": {
            "channel": "Security",
            "provider_name": "Microsoft-Windows-Security-Auditing",
            "event_id": "4624",
            "record_id": 1,
            "computer_name": "h.example",
            "event_data": {"TargetUserName": user},
        },
    }


def hits(analyst: httpx.Client, number: int, user: str) -> int:
    body = {"ids": [ID.format(number)], "events": [logon(user)]}
    answer = analyst.post(f"{SIGMA}/test", json=body)
    assert answer.status_code == 200, answer.text
    return len(answer.json()["hits"])


def test_a_rule_with_a_placeholder_is_in_force_once_it_has_values(analyst: httpx.Client) -> None:
    [added] = analyst.post(SIGMA, json={"text": rule(70, "our_admins")}).json()["results"]
    assert added["reason"] == "unresolved_placeholder"
    named = {one["name"]: one for one in analyst.get(PLACEHOLDER).json()}
    assert (named["our_admins"]["values"], named["our_admins"]["rules"]) == ([], [ID.format(70)])
    path = f"{PLACEHOLDER}/our_admins"
    answer = analyst.put(path, json={"values": ["root", "adm*"]})
    assert answer.json() == {"result": "success", "rules": 1}
    shown = analyst.get(f"{SIGMA}/{ID.format(70)}").json()
    assert (shown["reason"], shown["state"], shown["revision"]) == ("", "in_force", 1)
    assert [hits(analyst, 70, user) for user in ("ADMIN7", "root", "ann")] == [1, 1, 0]
    trial = analyst.post(
        f"{SIGMA}/test", json={"text": rule(71, "our_admins"), "events": [logon("root")]}
    )
    assert len(trial.json()["hits"]) == 1
    assert analyst.delete(path).json()["rules"] == 1
    assert analyst.get(f"{SIGMA}/{ID.format(70)}").json()["state"] == "unsupported"
    assert analyst.delete(path).status_code == 404


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("p", []),
        ("p", "root"),
        ("p", ["root", 7]),
        ("p", [""]),
        ("p", ["x" * (MEMBER_CHARS_MAX + 1)]),
        ("p", ["x"] * (SIGMA_PLACEHOLDER_VALUES_MAX + 1)),
        ("p%25q", ["x"]),
        ("p" * (MEMBER_CHARS_MAX + 1), ["x"]),
    ],
)
def test_bad_values_are_refused(analyst: httpx.Client, name: str, values: object) -> None:
    answer = analyst.put(f"{PLACEHOLDER}/{name}", json={"values": values})
    assert answer.status_code == 400, answer.text


def test_the_command_sets_lists_and_deletes_placeholders(server: Server) -> None:
    def run(*words: str) -> str:
        done = CliRunner().invoke(app, ["placeholder", *words, "--data", str(server.data)])
        assert done.exit_code == 0, done.output
        return done.output

    assert "0 rules" in run("nobody_names_it", "ann", "bob")
    assert "ann, bob" in run()
    run("nobody_names_it", "--delete")
    assert "ann" not in run()


def test_versions_of_a_rule_say_who_wrote_what(analyst: httpx.Client) -> None:
    text = rule(72, "x").replace("|expand", "")
    analyst.post(SIGMA, json={"text": text})
    analyst.post(SIGMA, json={"text": text.replace("Logon of x", "Logon of y")})
    analyst.put(f"{SIGMA}/{ID.format(72)}", json={"enabled": False})
    found = analyst.get(f"{SIGMA}/{ID.format(72)}/versions").json()
    shown = [(one["revision"], one["title"], one["modified_by"]) for one in found]
    assert shown == [(2, "Logon of y", "admin"), (1, "Logon of x", "admin")]
    assert found[1]["text"] == text
    assert found[0]["modified"] >= found[1]["modified"]
    assert analyst.get(f"{SIGMA}/none/versions").status_code == 404

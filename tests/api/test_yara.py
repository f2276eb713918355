"""YARA rules over the copies of programs."""

import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from tests.api.test_binary_reading import sent
from tests.support.sensor import PlayedSensor, enrol, sending_secret
from tests.support.served import Server

WAIT_S = 120


@pytest.fixture(scope="module")
def sensor(server: Server) -> Iterator[PlayedSensor]:
    with server.client() as client:
        name = f"yara-{os.urandom(4).hex()}.example"
        yield enrol(client, name, sending_secret(server))


class Word:
    """A word that one file has, and rules that find it."""

    def __init__(self) -> None:
        self.word = f"w{os.urandom(8).hex()}"
        self.rule = f"has_{self.word}"
        self.path = f"/api/v1/yara/{self.word}"
        self.content = b"\x7fELF" + os.urandom(200) + self.word.encode() + os.urandom(50)

    def text(self, score: str = "") -> str:
        meta = f"meta: score = {score} " if score else ""
        return f'rule {self.rule} {{ {meta}strings: $a = "{self.word}" condition: $a }}'


def wait_until(is_so: Callable[[], object]) -> bool:
    deadline_s = time.monotonic() + WAIT_S
    while not is_so():
        if time.monotonic() > deadline_s:
            return False
        time.sleep(0.3)
    return True


def found(client: httpx.Client, query: str) -> list[str]:
    answer = client.get("/api/v1/binary", params={"q": query})
    assert answer.status_code == 200, answer.text
    return [one["md5"].lower() for one in answer.json()["results"]]


def add(client: httpx.Client, word: Word, text: str) -> dict[str, Any]:
    answer = client.put(word.path, json={"text": text})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def test_rules_find_copies_from_before_and_after_them(
    analyst: httpx.Client, sensor: PlayedSensor
) -> None:
    word = Word()
    before = sent(sensor, word.content, "/opt/before")
    assert add(analyst, word, word.text("60"))["state"] == "in_force"
    after = sent(sensor, word.content + b"after", "/opt/after")
    query = f"alliance_data_yara:{word.rule}"
    assert wait_until(lambda: set(found(analyst, query)) == {before, after})
    assert found(analyst, f"alliance_score_yara:[60 TO 60] md5:{before}") == [before]
    assert found(analyst, f"alliance_score_yara:[61 TO *] md5:{before}") == []
    body = analyst.get(f"/api/v1/binary/{before}/summary").json()
    assert body["alliance_score_yara"] == 60
    assert word.rule in body["alliance_data_yara"]
    processes = analyst.get("/api/v1/process", params={"q": f"process_md5:{before}"}).json()
    assert processes["total_results"] == 1


def test_matches_go_with_their_rule_and_when_it_is_changed_or_switched_off(
    analyst: httpx.Client, sensor: PlayedSensor
) -> None:
    word = Word()
    add(analyst, word, word.text())
    md5 = sent(sensor, word.content, "/opt/gone")
    query = f"alliance_data_yara:{word.rule}"
    assert wait_until(lambda: found(analyst, query) == [md5])
    add(analyst, word, f"rule {word.rule} {{ condition: false }}")
    assert wait_until(lambda: found(analyst, query) == [])
    add(analyst, word, word.text())
    assert wait_until(lambda: found(analyst, query) == [md5])
    assert analyst.put(word.path, json={"enabled": False}).json()["state"] == "disabled"
    assert wait_until(lambda: found(analyst, query) == [])
    assert analyst.put(word.path, json={"enabled": True}).json()["state"] == "in_force"
    assert wait_until(lambda: found(analyst, query) == [md5])
    assert analyst.delete(word.path).status_code == 200
    assert analyst.get(word.path).status_code == 404
    assert wait_until(lambda: found(analyst, query) == [])


def test_a_rule_that_does_not_end_is_stopped_and_named_and_others_go_on(
    analyst: httpx.Client, sensor: PlayedSensor
) -> None:
    word, endless = Word(), Word()
    add(analyst, word, word.text())
    long = "for any i in (0..1000000000000) : (uint8(i % filesize) == 300)"
    add(analyst, endless, f"rule {endless.rule} {{ condition: {long} }}")
    md5 = sent(sensor, word.content, "/opt/slow")
    assert wait_until(lambda: analyst.get(endless.path).json()["state"] == "stopped")
    assert "exceeded" in analyst.get(endless.path).json()["problem"]
    assert wait_until(lambda: found(analyst, f"alliance_data_yara:{word.rule}") == [md5])
    assert analyst.get(word.path).json()["state"] == "in_force"
    assert analyst.delete(endless.path).status_code == 200


def test_progress_is_told(analyst: httpx.Client, sensor: PlayedSensor) -> None:
    word = Word()
    sent(sensor, word.content, "/opt/progress")
    add(analyst, word, word.text())

    def is_done() -> bool:
        body = analyst.get("/api/v1/yara").json()
        return bool(0 < body["copies"] == body["copies_read"])

    assert wait_until(is_done)
    assert word.word in {one["name"] for one in analyst.get("/api/v1/yara").json()["rules"]}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("rule a { condition: nonsense }", "unknown identifier"),
        ('include "/etc/passwd" rule a { condition: true }', "include"),
        ("rule a {", "syntax"),
        ("", "no rule"),
        ("/* nothing */", "no rule"),
        ("rule a { condition: true } rule a { condition: true }", "duplicate"),
        ("rule a { condition: true } //" + "x" * 300_000, "262,144 bytes"),
        ("\0\ud7ff", "syntax"),
    ],
    ids=["unknown", "include", "cut", "empty", "comment", "twice", "long", "bytes"],
)
def test_a_text_that_cannot_be_used_is_400_with_the_reason(
    analyst: httpx.Client, text: str, reason: str
) -> None:
    word = Word()
    answer = analyst.put(word.path, json={"text": text})
    assert answer.status_code == 400, answer.text
    assert reason in answer.json()["message"]
    assert analyst.get(word.path).status_code == 404


@pytest.mark.parametrize("body", [{}, {"text": 5}, {"enabled": "yes"}, {"name": "x"}, []])
def test_a_body_that_is_none_is_400(analyst: httpx.Client, body: Any) -> None:
    assert analyst.put(Word().path, json=body).status_code == 400


@pytest.mark.parametrize("name", ["..%2Fx", "a%20b", "-x", "x" * 65, "%00"])
def test_a_name_that_is_none_is_refused(analyst: httpx.Client, name: str) -> None:
    body = {"text": "rule a { condition: true }"}
    assert analyst.put(f"/api/v1/yara/{name}", json=body).status_code in (400, 404)


def test_a_switch_without_rules_is_404(analyst: httpx.Client) -> None:
    assert analyst.put(Word().path, json={"enabled": True}).status_code == 404

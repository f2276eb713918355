"""Destinations: brokers of Kafka over TCP, disks that fill, what requests to object stores have."""

from base64 import b64decode
from collections.abc import Iterator
from hashlib import md5
from typing import Any

import orjson
import pytest

from tests.contract.forwarder.conftest import Here
from tests.support.object_store import RealBucket
from tests.support.receivers import http_receiver
from vedette.errors import BadRequestError
from vedette.forwarder import directory, kafka_topic
from vedette.forwarder.configuration import Wanted

TIMEOUT_S = 30.0


@pytest.fixture
def brokers() -> Iterator[str]:
    """Three brokers on loopback: those that librdkafka has for tests, in this process, which speak
    the protocol of Kafka over TCP. No package of Debian or PyPI brings a whole one."""
    library = pytest.importorskip("confluent_kafka", reason="confluent-kafka is not installed")
    holder = library.Producer(
        {"test.mock.num.brokers": 3, "bootstrap.servers": "ignored", "log_level": 0}
    )
    found = holder.list_topics(timeout=TIMEOUT_S).brokers.values()
    yield ",".join(f"{one.host}:{one.port}" for one in found)
    del holder


def messages(brokers: str, count: int) -> list[dict[str, Any]]:
    """So many messages of the topic, by another client."""
    library = pytest.importorskip("confluent_kafka")
    settings = {"bootstrap.servers": brokers, "group.id": "g", "auto.offset.reset": "earliest"}
    reader = library.Consumer(settings)
    reader.subscribe(["alerts"])
    try:
        found = reader.consume(count, TIMEOUT_S)
        return [orjson.loads(one.value()) for one in found if one.error() is None]
    finally:
        reader.close()


def topic_at(brokers: str) -> dict[str, str]:
    return {"kind": "kafka", "brokers": brokers, "topic": "alerts", "tls": "false"}


def test_records_are_messages_of_kafka(here: Here, brokers: str) -> None:
    one = here.add(destination=topic_at(brokers))
    ids = here.write(40)
    here.run(lambda: here.stream(one).records == 40)
    assert [record["id"] for record in messages(brokers, 40)] == ids


def test_brokers_that_do_not_answer_are_tried_again(
    here: Here, brokers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka_topic, "FORWARD_SEND_S", 2.0)
    one = here.add(destination=topic_at("127.0.0.1:1"))
    ids = here.write(3)
    here.run(lambda: here.stream(one).failures == 1)
    assert "127.0.0.1:1" in here.stream(one).error
    monkeypatch.setattr(kafka_topic, "FORWARD_SEND_S", TIMEOUT_S)
    here.parts.change(one.id, Wanted(destination=topic_at(brokers)))
    here.run(lambda: here.stream(one).records == 3)
    assert [record["id"] for record in messages(brokers, 3)] == ids


def test_brokers_that_nobody_may_reach_are_refused(here: Here) -> None:
    pytest.importorskip("confluent_kafka")
    one = here.add(destination=topic_at("169.254.169.254:9092"))
    here.write(1)
    here.run(lambda: here.stream(one).failures == 1)
    assert "egress_allow" in here.stream(one).error


def test_kafka_needs_its_package(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka_topic, "find_spec", lambda _: None)
    topic = {"kind": "kafka", "brokers": "127.0.0.1:9092", "topic": "alerts"}
    with pytest.raises(BadRequestError, match="confluent-kafka"):
        here.add(destination=topic)


def test_a_directory_leaves_room_on_its_disk(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory, "FORWARD_DISK_FREE_BYTES_MIN", 1 << 60)
    one = here.add()
    here.write(2)
    here.run(lambda: here.stream(one).failures == 1)
    assert "kept free" in here.stream(one).error
    assert here.records() == []
    monkeypatch.setattr(directory, "FORWARD_DISK_FREE_BYTES_MIN", 0)
    here.run(lambda: here.stream(one).records == 2)


def test_objects_have_a_digest_that_stores_compare(here: Here) -> None:
    with http_receiver() as receiver:
        store = RealBucket(receiver.url.partition("/hook")[0], "bucket")
        one = here.add(destination=store.destination())
        here.write(1)
        here.run(lambda: here.stream(one).records == 1)
        (put,) = receiver.posts
    headers = {name.lower(): text for name, text in put.headers.items()}
    assert b64decode(headers["content-md5"]) == md5(put.body).digest()
    assert "content-md5;" in headers["authorization"]

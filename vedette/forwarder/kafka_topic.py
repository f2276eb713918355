"""A topic of Kafka, available where the package `confluent-kafka` is installed. Each record is a
message.

Brokers name further brokers, to which the client connects by itself. The guard of outgoing
connections sees only the configured brokers.
"""

import zlib
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from vedette.errors import BadRequestError
from vedette.forwarder.delivery import Content, DeliveryError
from vedette.limits import FORWARD_SEND_S, Limit
from vedette.notify.egress import EgressError, resolve
from vedette.notify.http_post import PostRules

KAFKA_MESSAGE_BYTES_MAX: Limit[int] = 32 << 20
"""Bytes of one message, enough for the longest record and its envelope, so that only the broker
decides what is too long."""


PACKAGE = "confluent_kafka"
_GZIP = 31
"""Window bits with which zlib reads gzip."""


def check_installed() -> None:
    """Raises BadRequestError if the package is missing."""
    if find_spec(PACKAGE) is None:
        raise BadRequestError(
            "destination.kind: kafka needs the package confluent-kafka, which is not installed"
        )


@dataclass(frozen=True, slots=True)
class KafkaTopic:
    """The `Destination` for Kafka. Every in-sync replica has the messages when `deliver`
    returns."""

    brokers: str
    topic: str
    username: str
    password: str = field(repr=False)
    is_tls: bool
    rules: PostRules

    def deliver(self, path: str, content: Content) -> None:
        check_installed()
        for place in self.brokers.split(","):
            self._check(place)
        library: Any = import_module(PACKAGE)
        failures: list[str] = []

        def reported(error: object, _message: object) -> None:
            if error is not None:
                failures.append(str(error))

        try:
            producer = library.Producer(self._settings())
            for line in zlib.decompress(content.body, _GZIP).splitlines():
                while True:
                    try:
                        producer.produce(self.topic, line, key=path, on_delivery=reported)
                        break
                    except BufferError:
                        producer.poll(1)
            left = producer.flush(FORWARD_SEND_S)
        except library.KafkaException as error:
            raise DeliveryError(f"{self.brokers}: {error}") from None
        if left or failures:
            why = failures[0] if failures else f"{left} messages were not confirmed in time"
            raise DeliveryError(f"{self.brokers}: {why}")

    def _check(self, place: str) -> None:
        host, _, port = place.rpartition(":")
        try:
            resolve(host, int(port), self.rules.egress)
        except (EgressError, OSError) as error:
            raise DeliveryError(f"{place}: {error}") from None

    def _settings(self) -> dict[str, Any]:
        settings: dict[str, Any] = {
            "bootstrap.servers": self.brokers,
            "enable.idempotence": True,
            # The broker decides whether a record is too long.
            "message.max.bytes": KAFKA_MESSAGE_BYTES_MAX,
            "message.timeout.ms": int(FORWARD_SEND_S * 1_000),
            "security.protocol": "SSL" if self.is_tls else "PLAINTEXT",
        }
        if self.is_tls and self.rules.ca is not None:
            settings["ssl.ca.location"] = str(self.rules.ca)
        if self.username:
            settings |= {
                "security.protocol": "SASL_SSL" if self.is_tls else "SASL_PLAINTEXT",
                "sasl.mechanism": "PLAIN",
                "sasl.username": self.username,
                "sasl.password": self.password,
            }
        return settings

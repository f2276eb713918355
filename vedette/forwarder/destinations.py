"""The kinds of destinations, with the members of each and how it is opened. To add a kind, add a
line to `KINDS`."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, get_args

from vedette.clock import Clock
from vedette.errors import BadRequestError
from vedette.forwarder.bucket import Bucket, amazon_endpoint
from vedette.forwarder.delivery import Destination
from vedette.forwarder.directory import Directory
from vedette.forwarder.https_receiver import HttpsReceiver
from vedette.forwarder.kafka_topic import KafkaTopic, check_installed
from vedette.forwarder.path_template import checked_template
from vedette.forwarder.s3_signature import SigningKeys
from vedette.limits import Limit
from vedette.notify.http_post import PostRules, checked_url, place_of
from vedette.state.jobs.forwarders import DestinationKind

FORWARDER_OPTION_CHARS_MAX: Limit[int] = 2_000
"""Characters of one member of a destination. URLs and keys are the longest."""


Members = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class DestinationRules:
    """Limits that the settings place on destinations. Directories must be below `root`."""

    root: Path
    posts: PostRules
    clock: Clock


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of destination. `place` names the members that determine who receives the secrets: if
    one of them changes, the secrets have to be given again."""

    options: tuple[str, ...]
    secrets: tuple[str, ...]
    required: tuple[str, ...]
    place: tuple[str, ...]
    check: Callable[[Members], Members]
    """Returns the options as they are stored. Raises BadRequestError."""
    open: Callable[[Members, DestinationRules], Destination]
    """Opens a destination from its options and secrets."""


_BUCKET: Final = re.compile(r"[a-z0-9][a-z0-9._-]{1,62}")
_BROKER: Final = re.compile(r"[A-Za-z0-9._-]{1,255}:[0-9]{1,5}")
_TOPIC: Final = re.compile(r"[A-Za-z0-9._-]{1,249}")
_REGION: Final = re.compile(r"[a-z0-9-]{1,40}")


def _checked_directory(given: Members) -> Members:
    path = checked_template(given.get("path", ""))
    if "{" in path:
        raise BadRequestError("destination.path: places in braces belong into the path")
    return {"path": path}


def _checked_bucket(given: Members) -> Members:
    region = given.get("region") or "us-east-1"
    if not _REGION.fullmatch(region):
        raise BadRequestError("destination.region: must be a name such as eu-central-1")
    if not _BUCKET.fullmatch(given["bucket"]) or ".." in given["bucket"]:
        raise BadRequestError("destination.bucket: must be the name of a bucket")
    endpoint = given.get("endpoint") or amazon_endpoint(region)
    checked_url(endpoint, "destination.endpoint")
    if "?" in endpoint or "#" in endpoint:
        raise BadRequestError("destination.endpoint: must have no query")
    return {**given, "region": region, "endpoint": endpoint}


def _open_bucket(members: Members, rules: DestinationRules) -> Destination:
    keys = SigningKeys(
        members["access_key_id"], members["secret_access_key"], members.get("session_token", "")
    )
    place = members["endpoint"], members["bucket"], members["region"]
    return Bucket(*place, keys, rules.posts, rules.clock)


def _checked_receiver(given: Members) -> Members:
    return given


def _checked_topic(given: Members) -> Members:
    check_installed()
    brokers = [one.strip() for one in given["brokers"].split(",")]
    if not all(_BROKER.fullmatch(one) for one in brokers):
        raise BadRequestError("destination.brokers: must be HOST:PORT, or several with commas")
    if not _TOPIC.fullmatch(given["topic"]):
        raise BadRequestError("destination.topic: must be the name of a topic")
    if given.get("tls", "true") not in ("true", "false"):
        raise BadRequestError("destination.tls: must be the string true or false")
    return {**given, "brokers": ",".join(brokers), "tls": given.get("tls", "true")}


def _open_topic(members: Members, rules: DestinationRules) -> Destination:
    return KafkaTopic(
        members["brokers"],
        members["topic"],
        members.get("username", ""),
        members.get("password", ""),
        members["tls"] == "true",
        rules.posts,
    )


KINDS: Final[Mapping[DestinationKind, Kind]] = {
    "directory": Kind(
        ("path",),
        (),
        (),
        (),
        _checked_directory,
        lambda members, rules: Directory(rules.root / members["path"]),
    ),
    "s3": Kind(
        ("bucket", "endpoint", "region", "access_key_id"),
        ("secret_access_key", "session_token"),
        ("bucket", "access_key_id", "secret_access_key"),
        ("bucket", "endpoint", "region"),
        _checked_bucket,
        _open_bucket,
    ),
    "https": Kind(
        ("place",),
        ("url", "authorization"),
        ("url",),
        ("place",),
        _checked_receiver,
        lambda members, rules: HttpsReceiver(
            members["url"], members.get("authorization", ""), rules.posts
        ),
    ),
    "kafka": Kind(
        ("brokers", "topic", "username", "tls"),
        ("password",),
        ("brokers", "topic"),
        ("brokers", "tls"),
        _checked_topic,
        _open_topic,
    ),
}
assert set(KINDS) == set(get_args(DestinationKind))


def checked_members(given: Mapping[str, Any]) -> tuple[DestinationKind, Members, Members]:
    """Returns the kind, options and secrets of a destination from user input. Raises
    BadRequestError."""
    name = next((one for one in KINDS if one == given.get("kind")), None)
    if name is None:
        raise BadRequestError(f"destination.kind: must be one of {', '.join(KINDS)}")
    kind = KINDS[name]
    texts: dict[str, str] = {}
    for member, value in given.items():
        if member == "kind":
            continue
        if member not in (*kind.options, *kind.secrets):
            raise BadRequestError(f"destination: unknown field {member[:60]!r}")
        if not isinstance(value, str) or len(value) > FORWARDER_OPTION_CHARS_MAX:
            most = FORWARDER_OPTION_CHARS_MAX
            raise BadRequestError(f"destination.{member}: must be a string of at most {most}")
        if not value.isprintable():
            raise BadRequestError(f"destination.{member}: has characters that cannot be printed")
        texts[member] = value
    if texts.get("url"):
        # Paths and queries of URLs may contain keys, so only the place is shown.
        texts["place"] = place_of(checked_url(texts["url"], "destination.url"))
    for member in kind.required:
        if member in kind.options and not texts.get(member):
            raise BadRequestError(f"destination.{member}: must be given")
    options = kind.check({one: texts[one] for one in kind.options if one in texts})
    return name, options, {one: texts[one] for one in kind.secrets if texts.get(one)}


def check_secrets(name: DestinationKind, secrets: Members) -> None:
    """Raises BadRequestError if a secret is missing."""
    for member in KINDS[name].required:
        if member in KINDS[name].secrets and member not in secrets:
            raise BadRequestError(f"destination.{member}: must be given")


def same_place(name: DestinationKind, before: Members, after: Members) -> bool:
    """Whether secrets that were given for one destination may be sent to the other."""
    return all(before.get(one) == after.get(one) for one in KINDS[name].place)


def open_destination(
    name: DestinationKind, options: Members, secrets: Members, rules: DestinationRules
) -> Destination:
    return KINDS[name].open({**options, **secrets}, rules)

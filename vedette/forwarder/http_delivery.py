"""Sends requests of destinations through the guard of outgoing connections, without redirects."""

from collections.abc import Mapping

from vedette.forwarder.delivery import DeliveryError
from vedette.limits import FORWARD_SEND_S
from vedette.notify.delivery import TargetError
from vedette.notify.http_post import PostRules, exchange, place_of


def deliver_by_http(
    method: str, url: str, body: bytes, headers: Mapping[str, str], rules: PostRules
) -> None:
    """Sends a request. Returns when the other side has answered 2xx; raises DeliveryError for
    everything else."""
    try:
        answer = exchange(method, url, body, headers, rules, seconds=FORWARD_SEND_S)
    except TargetError as error:
        raise DeliveryError(error.message) from None
    if 200 <= answer.status < 300:
        return
    text = " ".join(answer.said.decode("utf-8", "replace").split())
    if 300 <= answer.status < 400:
        text = "redirects are not followed"
    message = f"{place_of(url)}: HTTP {answer.status} {text}".strip()
    raise DeliveryError(message, answer.wanted_pause_s)

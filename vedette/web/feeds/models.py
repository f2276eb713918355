"""JSON bodies of feeds (docs/api-detection.md#feed).

A record never contains a secret: `password` and `ssl_client_key` are null. Sending the record back
with null changes nothing; "" deletes a secret.
"""

from collections.abc import Mapping
from typing import Any

from vedette.feeds.trial import Trial
from vedette.model.threat.feed import BrokenPart
from vedette.record.answers import to_json
from vedette.record.bodies import Sent
from vedette.record.objects.feed import Feed, FeedRequest
from vedette.state.policy.feeds import SECRETS

Body = dict[str, Any]


def feed_members(sent: Sent[FeedRequest]) -> Body:
    """Returns the columns and secrets of `state.policy.feeds` that a body sets."""
    secrets = {name: getattr(sent.request, name) for name in SECRETS}
    return sent.values | {name: text for name, text in secrets.items() if text is not None}


def feed_settings(feed: Feed) -> Body:
    """Returns the record of a feed without counts. All secrets are null."""
    return to_json(feed) | dict.fromkeys(SECRETS)


def feed_body(feed: Feed, counts: tuple[int, int], secrets: Mapping[str, bool]) -> Body:
    """Returns the record of a feed. `counts` is (reports, indicators)."""
    has = {f"has_{name}": is_set for name, is_set in secrets.items()}
    return feed_settings(feed) | has | {"report_count": counts[0], "ioc_count": counts[1]}


def error_body(part: BrokenPart) -> Body:
    """Returns a part of a feed that could not be parsed."""
    return {"place": part.place, "report_id": part.report_id or None, "problem": part.problem}


def trial_body(found: Trial) -> Body:
    """Returns the result of a trial: the reports and indicators that a feed would add."""
    return {
        "name": found.info.name,
        "display_name": found.info.display_name,
        "format": found.format,
        "reports": found.reports,
        "indicators": dict(found.indicators),
        "titles": found.titles,
        "error_count": found.errors,
        "errors": [error_body(one) for one in found.broken],
        "complete": found.is_whole,
    }

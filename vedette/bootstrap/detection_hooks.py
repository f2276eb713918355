"""Hooks for detections besides alerts, and the sources that raise alerts. To add a hook, add it to
the tuple."""

from collections.abc import Callable, Collection
from typing import Final

from vedette.alerting.hooks import DetectionHook
from vedette.alerting.outbox_hook import OutboxHook
from vedette.alerting.response import ResponseHook
from vedette.clock import Clock
from vedette.forwarder.hit_source import HitHook
from vedette.model.findings.detection import Source
from vedette.settings import Settings
from vedette.state.db.database import Transaction
from vedette.state.policy.actions import enabled_actions
from vedette.web.forwarding.forwarded_records_json import hit_record

DETECTION_HOOKS: Final[tuple[Callable[[Settings, Clock], DetectionHook], ...]] = (
    lambda settings, clock: OutboxHook(clock, settings.mail_digest_s),
    lambda _, clock: ResponseHook(clock),
    lambda settings, clock: HitHook(clock, hit_record(settings.org_key)),
)
"""Hooks in order of execution, all in one transaction."""


def detection_hooks(settings: Settings, clock: Clock) -> list[DetectionHook]:
    """Returns the hooks of a server."""
    return [make(settings, clock) for make in DETECTION_HOOKS]


def alerting_sources(transaction: Transaction, sources: Collection[Source]) -> Collection[Source]:
    """Returns those of the sources whose alert action is enabled."""
    found = enabled_actions(transaction, sources)
    return [source for source, actions in found.items() if actions.is_alerting]

"""What happens with detections besides alerts, and which sources make alerts: to add a hook, add a
line to the tuple."""

from collections.abc import Callable, Collection
from typing import Final

from vedette.alerting.hooks import DetectionHook
from vedette.alerting.outbox_hook import OutboxHook
from vedette.alerting.response import ResponseHook
from vedette.api.schemas.cloud.forwarded_records import hit_record
from vedette.clock import Clock
from vedette.forwarder.hit_source import HitHook
from vedette.model.findings.detection import Source
from vedette.settings import Settings
from vedette.state.db.database import Transaction
from vedette.state.policy.actions import enabled_actions

DETECTION_HOOKS: Final[tuple[Callable[[Settings, Clock], DetectionHook], ...]] = (
    lambda settings, clock: OutboxHook(clock, settings.mail_digest_s),
    lambda _, clock: ResponseHook(clock),
    lambda settings, clock: HitHook(clock, hit_record(settings.org_key)),
)
"""Run in this order, in one transaction."""


def detection_hooks(settings: Settings, clock: Clock) -> list[DetectionHook]:
    """The hooks of a server."""
    return [make(settings, clock) for make in DETECTION_HOOKS]


def alerting_sources(transaction: Transaction, sources: Collection[Source]) -> Collection[Source]:
    """Those of the sources whose alert action is on."""
    found = enabled_actions(transaction, sources)
    return [source for source, actions in found.items() if actions.is_alerting]

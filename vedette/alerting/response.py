"""Automatic responses: isolates a host or bans a file when a rule that a policy names fires.

Off until a user adds a policy. The decision is recorded in the transaction of the detection. A job
carries it out through the same functions as orders by users. Senders of telemetry can make rules
fire, so each policy has an hourly limit, a list of hosts that are never isolated and an end, and
does not ban files that many hosts have. Old events, from an import, cause no response.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import re2
import structlog

from vedette import limits
from vedette.alerting.hooks import WrittenDetection
from vedette.clock import Clock
from vedette.errors import CallerError, ConflictError
from vedette.limits import Limit
from vedette.model.scope import EVERYTHING
from vedette.record.objects.response_policy import ResponsePolicy
from vedette.state.db.database import Database, Transaction
from vedette.state.jobs import responses
from vedette.state.jobs.responses import NewResponse, Response, ResponseState
from vedette.state.policy import bans, response_policies
from vedette.state.policy.bans import BanAuthor
from vedette.state.sensors import sensor_changes, sensor_list
from vedette.state.sensors.sensor_changes import SensorChanges
from vedette.store.engine.client import Engine
from vedette.store.read.binaries import binaries_of

RESPONSE_EVENT_AGE_MAX_US: Limit[int] = 24 * 3600 * 1_000_000
"""Age (us) of an event up to which it causes a response: an import of old logs must not isolate
today's hosts."""


log = structlog.get_logger(__name__)

_HOUR_US: Final = 3_600 * 1_000_000


class ResponseHook:
    """Records the policies' responses to detections (see `alerting/hooks.py`)."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def __call__(self, transaction: Transaction, detections: Sequence[WrittenDetection]) -> None:
        of_rules = [one for one in detections if one.detection.source.kind == "rule"]
        if not of_rules:
            return
        policies = [one for one in response_policies.all_policies(transaction) if one.enabled]
        now_us = self._clock.now_us()
        for one in of_rules:
            if one.is_new:
                responses.record(transaction, _answers(policies, one, now_us), now_us)


class Responder:
    """Carries out recorded responses and ends them. Each step may be repeated."""

    def __init__(self, database: Database, engine: Engine, clock: Clock) -> None:
        self._database = database
        self._engine = engine
        self._clock = clock

    def carry_out(self) -> None:
        """Carries out pending responses; records the reason of those that cannot be carried out."""
        for one in responses.pending(self._database):
            try:
                self._carry_out(one)
            except CallerError as error:
                self._finish(one, ResponseState.FAILED, error.message)

    def end(self) -> None:
        """Undoes responses whose end has passed, unless a user has decided since."""
        for one in responses.ended(self._database, self._clock.now_us()):
            try:
                self._undo(one)
            except CallerError as error:
                self._finish(one, ResponseState.FAILED, f"not undone: {error.message}")

    def _carry_out(self, one: Response) -> None:
        now_us = self._clock.now_us()
        with self._database.reading() as connection:
            policy = response_policies.get(connection, one.policy_id)
        if not policy.enabled:
            self._finish(one, ResponseState.SKIPPED, "the policy was disabled")
            return
        ends_us = now_us + policy.expires_hours * _HOUR_US if policy.expires_hours else 0
        held = responses.in_force(self._database, one.action, one.subject)
        if held is not None:
            responses.prolong(self._database, held.id, ends_us)
            self._finish(one, ResponseState.SKIPPED, f"response {held.id} holds already")
            return
        count = responses.done_since(self._database, policy.id, now_us - _HOUR_US)
        if count >= policy.hour_max:
            self._finish(one, ResponseState.SKIPPED, f"{policy.hour_max} per hour: limit reached")
            return
        refusal = self._do(one, policy, now_us)
        if refusal:
            self._finish(one, ResponseState.SKIPPED, refusal)
            return
        log.warning("response by rule", action=one.action, subject=one.subject, policy=policy.name)
        responses.finish(
            self._database, one.id, ResponseState.DONE, done_us=now_us, ends_us=ends_us
        )

    def _do(self, one: Response, policy: ResponsePolicy, now_us: int) -> str:
        """Carries out a response. Returns the reason for skipping it; "" if it was done. After a
        crash, a response that was begun counts as done if its effect exists."""
        refusal = "" if one.done_us else self._reason_against(one, policy)
        if not refusal:
            responses.begin(self._database, one.id, now_us)
            if one.action == "isolate":
                self._isolate(one, now_us)
            else:
                self._ban(one, now_us)
        return refusal

    def _reason_against(self, one: Response, policy: ResponsePolicy) -> str:
        if one.action == "isolate":
            sensor = sensor_list.get(self._database, EVERYTHING, one.sensor_id)
            return "isolated already" if sensor.network_isolation_enabled else ""
        if any(ban.md5 == one.subject and ban.enabled for ban in bans.all_bans(self._database)):
            return "banned already"
        hosts = _host_count(self._engine, one.subject)
        if hosts > policy.ban_hosts_max:
            return f"{hosts} hosts have the file: it may be a system file"
        return ""

    def _isolate(self, one: Response, now_us: int) -> None:
        changes = SensorChanges(network_isolation_enabled=True)
        sensor_changes.change(self._database, one.sensor_id, changes, now_us)

    def _ban(self, one: Response, now_us: int) -> None:
        text = f"{one.title} (rule {one.rule_id})"[: limits.BAN_REASON_CHARS_MAX]
        try:
            bans.add(self._database, one.subject, text, _author(one), now_us)
        except ConflictError:
            if bans.get(self._database, one.subject).username != _author(one).username:
                raise

    def _undo(self, one: Response) -> None:
        now_us = self._clock.now_us()
        if one.action == "isolate":
            changes = SensorChanges(network_isolation_enabled=False)
            sensor_changes.change(self._database, one.sensor_id, changes, now_us)
        else:
            ban = bans.get(self._database, one.subject)
            if ban.username != _author(one).username:
                self._finish(one, ResponseState.TAKEN_OVER, f"{ban.username} decided")
                return
            bans.change(
                self._database,
                one.subject,
                enabled=False,
                text=None,
                by=_author(one),
                now_us=now_us,
            )
        responses.finish(self._database, one.id, ResponseState.ENDED, undone_us=now_us)

    def _finish(self, one: Response, state: ResponseState, text: str) -> None:
        log.info("response by rule", id=one.id, state=state.name.lower(), text=text)
        responses.finish(self._database, one.id, state, text=text)


def matches_host(patterns: Sequence[str], hostname: str) -> bool:
    """Whether a host's full name or first label matches one of the patterns with * and ?."""
    names = {hostname.lower(), hostname.lower().partition(".")[0]}
    return any(_glob(pattern).fullmatch(name) for pattern in patterns for name in names)


def _answers(
    policies: Sequence[ResponsePolicy], one: WrittenDetection, now_us: int
) -> Iterator[NewResponse]:
    found = one.detection
    for policy in policies:
        if not policy.is_for(found.source.id, found.level):
            continue
        subject = str(found.sensor_id) if policy.action == "isolate" else _md5(one)
        yield NewResponse(
            policy_id=policy.id,
            policy_name=policy.name,
            detection_id=found.id,
            action=policy.action,
            subject=subject,
            sensor_id=found.sensor_id,
            rule_id=found.source.id,
            title=found.title[: limits.NOTICE_TEXT_CHARS_MAX],
            skipped=_obstacle(policy, one, now_us),
        )


def _obstacle(policy: ResponsePolicy, one: WrittenDetection, now_us: int) -> str:
    """Returns the reason to skip a response; "" for none."""
    found = one.detection
    if now_us - found.time_us > RESPONSE_EVENT_AGE_MAX_US:
        return "the event is too old"
    if policy.action == "ban":
        return "" if _md5(one) else "the event has no MD5"
    if not found.sensor_id:
        return "the event has no host"
    hostname = str(one.alert.get("hostname", ""))
    # Do not isolate a host without a name, since the exclusion list cannot be applied.
    if policy.hosts_never and not hostname:
        return "the host name is unknown"
    return "the host is never isolated" if matches_host(policy.hosts_never, hostname) else ""


def _md5(one: WrittenDetection) -> str:
    found = (one.detection.md5 or str(one.alert.get("md5", ""))).lower()
    return found if len(found) == 32 and set(found) <= set("0123456789abcdef") else ""


def _host_count(engine: Engine, md5: str) -> int:
    rows = binaries_of(engine, [md5], EVERYTHING)
    return max((int(row["host_count"]) for row in rows), default=0)


def _author(one: Response) -> BanAuthor:
    return BanAuthor(0, f"response policy {one.policy_id}")


def _glob(pattern: str) -> "re2._Regexp":
    parts = {"*": ".*", "?": "."}
    return re2.compile("".join(parts.get(char) or re2.escape(char) for char in pattern.lower()))

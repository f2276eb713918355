"""Normaliser of event-log records: Sysmon, Security, System, PowerShell and all other channels.

Each channel has tables of learners and makers by event id. Records that are in no table, or that a
maker cannot assign to a process, are stored as records if `Keep` selects them.

A value of a wrong type (a list for a path) raises in functions written for text. The record is then
processed again with only its text values, so well-formed records need no type checks.
"""

from typing import Any

from vedette.ingest.channels import (
    POWERSHELL,
    POWERSHELL_CORE,
    SECURITY,
    SYSMON,
    SYSMON_LINUX,
    SYSTEM,
)
from vedette.ingest.context.host_context import HostContext
from vedette.ingest.normalise import powershell, security, sysmon
from vedette.ingest.normalise.keep import kept
from vedette.ingest.normalise.normaliser import Keep, Normaliser
from vedette.ingest.normalise.values import scalar_text
from vedette.ingest.record import Record
from vedette.ingest.times import time_us
from vedette.limits import Limit
from vedette.model.event import Outcome

HOST_RECORDS_WAITING_MAX: Limit[int] = 10_000
"""Maximum records of a host that wait for learning; a batch has fewer."""

CLOCK_SAMPLE_RECORDS: Limit[int] = 16
"""One in this many records that need no time for learning is sampled for the clock's offset:
decoding all would cost too much."""


_SYSMON = frozenset({SYSMON, SYSMON_LINUX})

_LEARN: dict[str, dict[int, security.Learn]] = {
    SECURITY: security.LEARN,
    SYSTEM: security.SYSTEM_LEARN,
    POWERSHELL: {4104: powershell.learn_block},
    POWERSHELL_CORE: {4104: powershell.learn_block},
}
_MAKE: dict[str, dict[int, security.Make]] = {
    SECURITY: security.MAKE,
    SYSTEM: security.SYSTEM_MAKE,
    POWERSHELL: {4104: powershell.make_block},
    POWERSHELL_CORE: {4104: powershell.make_block},
}
_NOTHING: dict[int, Any] = {}

TICKETS = frozenset((4768, 4769, 4770))
"""Kerberos ticket requests, which only domain controllers log."""


_WRONG_TYPE = (TypeError, AttributeError, ValueError)


def learn(record: Record, ctx: HostContext) -> None:
    """Adds information that other records of the host need to the host context."""
    if record.adapters:
        ctx.adapters = record.adapters
    if record.channel in _SYSMON:
        try:
            _learn_sysmon(record, ctx)
        except _WRONG_TYPE:
            record.data = _plain(record.data)
            _learn_sysmon(record, ctx)
    elif record.event_id in TICKETS and record.channel == SECURITY:
        ctx.host_type = "domain_controller"
    elif record.event_id in _LEARN.get(record.channel, _NOTHING):
        # Resolved by pid and time, which needs Sysmon's processes and the clock offset first.
        ctx.waiting.append(record)
        if len(ctx.waiting) >= HOST_RECORDS_WAITING_MAX:
            _learn_waiting(ctx)


def _learn_sysmon(record: Record, ctx: HostContext) -> None:
    data, event_id = record.data, record.event_id
    learn_event = sysmon.LEARN.get(event_id)
    if learn_event is None:
        if event_id in sysmon.PAIRS:
            sysmon.learn_pair(data, ctx)
        else:
            sysmon.learn_subject(data, ctx)
        if record.record_id % CLOCK_SAMPLE_RECORDS:
            return
    event_us = time_us(data.get("UtcTime", ""))
    if learn_event is not None:
        learn_event(data, ctx, event_us or record.time_us)
    if event_us:
        ctx.learn_clock(record.time_us, event_us)


def _learn_waiting(ctx: HostContext) -> None:
    waiting, ctx.waiting = ctx.waiting, []
    for record in waiting:
        learn_record = _LEARN[record.channel][record.event_id]
        event_us = record.time_us - ctx.clock_offset_us
        try:
            learn_record(record, ctx, event_us)
        except _WRONG_TYPE:
            record.data = _plain(record.data)
            learn_record(record, ctx, event_us)
    ctx.resolve_device_paths()


def normalise(record: Record, ctx: HostContext, keep: Keep) -> list[Outcome]:
    """Returns events and metadata of a record; [] if the record is not kept."""
    if ctx.waiting:
        _learn_waiting(ctx)
    try:
        return _normalise(record, ctx, keep)
    except _WRONG_TYPE:
        record.data = _plain(record.data)
        return _normalise(record, ctx, keep)


def _normalise(record: Record, ctx: HostContext, keep: Keep) -> list[Outcome]:
    channel, event_id = record.channel, record.event_id
    if channel in _SYSMON:
        data = record.data
        event_us = time_us(data.get("UtcTime", "")) or record.time_us - ctx.clock_offset_us
        make = sysmon.MAKE.get(event_id)
        if make is not None:
            made = make(data, ctx, event_us)
            if made is not None:
                return made
    else:
        event_us = record.time_us - ctx.clock_offset_us
        make_record = _MAKE.get(channel, _NOTHING).get(event_id)
        if make_record is not None:
            out: list[Outcome] = make_record(record, ctx, event_us)
            if event_id in security.ALSO_KEPT and keep.keeps(channel, event_id):
                out.append(kept(record, event_us))
            if out:
                return out
    return [kept(record, event_us)] if keep.keeps(channel, event_id) else []


def _plain(data: dict[str, Any]) -> dict[str, Any]:
    """Returns event data as text. Converts numbers, removes null and nested values."""
    texts = {str(name): scalar_text(value) for name, value in data.items()}
    return {name: value for name, value in texts.items() if value}


NORMALISER = Normaliser(learn, normalise)

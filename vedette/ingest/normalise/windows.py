"""Normaliser of event-log records: Sysmon, Security, System, PowerShell and all other channels.

Each channel has tables of learners and makers by event id. Records in no table, and those that a
maker cannot assign to a process, are stored as records if `Keep` selects them.

A value of a wrong type (a list for a path) raises in functions written for text. The record is then
processed again with all values but text removed, so well-formed records cost no type checks.
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
from vedette.limits import CLOCK_SAMPLE_RECORDS, HOST_RECORDS_WAITING_MAX
from vedette.model.event import Outcome

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
    """Record in the host context what other records of the host need."""
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
        # Resolved by pid and time, so Sysmon's processes and the clock offset are needed first.
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
    """Events and metadata of one record; empty when the record is not kept."""
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
    """Event data as text: numbers converted, null and nested values removed."""
    texts = {str(name): scalar_text(value) for name, value in data.items()}
    return {name: value for name, value in texts.items() if value}


NORMALISER = Normaliser(learn, normalise)

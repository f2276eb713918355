"""Decoder of the native format: a `Record` as JSON, as the importer sends it."""

from msgspec import DecodeError, ValidationError
from msgspec.json import Decoder

from vedette.ingest.adapters import checked_adapters
from vedette.ingest.decode.eventlog import lower_host, small_pid, small_record_id
from vedette.ingest.host_clock import checked_clock
from vedette.ingest.record import Record, RecordError
from vedette.ingest.times import any_time_us

PREFIX = b'{"vedette_record":'

_decoder = Decoder(Record)
_LAST_US = 253_402_300_800_000_000


def decode(raw: bytes) -> Record:
    """Raises RecordError: not_json, unknown_format (a member is missing or has a wrong type),
    no_host, no_time."""
    try:
        record = _decoder.decode(raw)
    except ValidationError as error:
        raise RecordError("unknown_format", f"not a native record: {error}") from error
    except DecodeError as error:
        raise RecordError("not_json", str(error)) from error
    return checked(record)


def checked(record: Record) -> Record:
    """Returns the record with numbers in range and a lower-case host."""
    record.host = lower_host(record.host)
    if not record.host:
        raise RecordError("no_host", "the record has no host")
    if not 0 < record.time_us < _LAST_US:
        record.time_us = any_time_us(record.data.get("UtcTime"))
        if not record.time_us:
            raise RecordError("no_time", "the record has no time")
    record.event_id &= 0xFFFF
    record.record_id = small_record_id(record.record_id)
    record.pid = small_pid(record.pid)
    record.adapters = checked_adapters(record.adapters)
    record.host_clock = checked_clock(record.host_clock)
    return record

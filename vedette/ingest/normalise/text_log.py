"""Normaliser of text logs: their records describe no process and are stored as they are."""

from vedette.ingest.context.host_context import HostContext
from vedette.ingest.normalise.normaliser import Keep, Normaliser
from vedette.ingest.normalise.unix import kept_or_not
from vedette.ingest.record import Record
from vedette.model.event import Outcome


def learn(_record: Record, _ctx: HostContext) -> None:
    """Does nothing: a line names no process that others refer to."""


def normalise(record: Record, _ctx: HostContext, keep: Keep) -> list[Outcome]:
    """Returns the record; [] if it is not kept."""
    return kept_or_not(record, record.data, keep)


NORMALISER = Normaliser(learn, normalise)

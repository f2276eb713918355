"""Connections, DNS queries and named pipes: Sysmon 3, 22, 17, 18."""

from vedette.ingest.context.host_context import HostContext
from vedette.ingest.normalise.network import netconn, protocol_number
from vedette.ingest.normalise.sysmon.subject import Data, subject_of, with_news
from vedette.ingest.normalise.values import free_text, is_true, known_text, number
from vedette.model.address import pack_address
from vedette.model.event import Dnsquery, Outcome, Pipe, PipeOperation


def connected(data: Data, ctx: HostContext, time_us: int) -> list[Outcome] | None:
    known = subject_of(data, ctx, time_us)
    if known is None:
        return None
    get = data.get
    event = netconn(
        ctx,
        known.id,
        time_us,
        is_true(get("Initiated")),
        protocol_number(get("Protocol") or ""),
        (pack_address(get("SourceIp") or ""), number(get("SourcePort"), 65_536)),
        (pack_address(get("DestinationIp") or ""), number(get("DestinationPort"), 65_536)),
        known_text(get("SourceHostname")),
        known_text(get("DestinationHostname")),
    )
    return with_news(event, known)


def queried(data: Data, ctx: HostContext, time_us: int) -> list[Outcome] | None:
    known = subject_of(data, ctx, time_us)
    if known is None:
        return None
    get = data.get
    event = Dnsquery(
        known.id,
        time_us,
        free_text(get("QueryName")),
        number(get("QueryStatus")),
        known_text(get("QueryResults")),
    )
    return with_news(event, known)


def pipe_created(data: Data, ctx: HostContext, time_us: int) -> list[Outcome] | None:
    return _pipe(data, ctx, time_us, PipeOperation.CREATED)


def pipe_connected(data: Data, ctx: HostContext, time_us: int) -> list[Outcome] | None:
    return _pipe(data, ctx, time_us, PipeOperation.CONNECTED)


def _pipe(
    data: Data, ctx: HostContext, time_us: int, operation: PipeOperation
) -> list[Outcome] | None:
    known = subject_of(data, ctx, time_us)
    if known is None:
        return None
    return with_news(Pipe(known.id, time_us, operation, free_text(data.get("PipeName"))), known)

"""Normaliser of PowerShell script blocks (4104), assigned to the process that logged them.

Senders that drop the parameters of a long block (NXLog) still send its message, from which the
block is then read.
"""

import re
from typing import Any

from vedette.ingest.context.host_context import HostContext
from vedette.ingest.normalise.values import free_text, known_text, number
from vedette.ingest.record import Record
from vedette.model.event import Outcome, Scriptblock

_BEGINNING = re.compile(
    r"[^\r\n(]{0,256}\((?P<MessageNumber>\d{1,6}) of (?P<MessageTotal>\d{1,6})\):\r?\n"
)
_END_MARK = "ScriptBlock ID: "
_END = re.compile(
    r"ScriptBlock ID: (?P<ScriptBlockId>[0-9A-Fa-f-]{36})\r?\nPath: ?(?P<Path>[^\r\n]*+)"
)
"""Start and end of the English message of a 4104, with groups named after the event data. The
block's text and an empty line are between them."""


def learn_block(record: Record, ctx: HostContext, _time_us: int) -> None:
    if record.pid:
        ctx.mention(record.pid)


def make_block(record: Record, ctx: HostContext, time_us: int) -> list[Outcome]:
    """Returns a part of a block; [] if the envelope has no process id (Get-WinEvent)."""
    data = _block(record.data)
    if not record.pid or data is None:
        return []
    known = ctx.alive(record.pid, time_us)
    out: list[Outcome] = [
        Scriptblock(
            known.id,
            time_us,
            free_text(data.get("ScriptBlockId")).lower(),
            number(data.get("MessageNumber")),
            number(data.get("MessageTotal")),
            free_text(data.get("ScriptBlockText")),
            known_text(data.get("Path")),
        )
    ]
    known.report(out)
    return out


def _block(data: dict[str, Any]) -> dict[str, Any] | None:
    """Returns event data that contain the block's text; None if neither the data nor the message
    do."""
    if data.get("ScriptBlockText") is not None:
        return data
    message = data.get("Message")
    return _parts(message) if isinstance(message, str) else None


def _parts(message: str) -> dict[str, Any] | None:
    """Returns the parts of a message. The last end marker counts, so a script that contains a
    marker cannot truncate itself."""
    first = _BEGINNING.match(message)
    last = _END.match(message, max(message.rfind(_END_MARK), 0))
    if first is None or last is None or last.start() < first.end() or message[last.end() :].strip():
        return None
    text = message[first.end() : last.start()]
    for _ in range(2):
        if not text.endswith("\n"):
            return None
        text = text[:-1].removesuffix("\r")
    return {**first.groupdict(), **last.groupdict(), "ScriptBlockText": text}

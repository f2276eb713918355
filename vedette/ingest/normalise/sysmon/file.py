"""File and module events: Sysmon 2, 6, 7, 11, 15, 23, 26 to 29."""

from vedette.ingest.context.host_context import HostContext
from vedette.ingest.context.process_state import ProcessState
from vedette.ingest.file_types import PE, file_type_of
from vedette.ingest.hashes import NO_HASHES, hashes_of
from vedette.ingest.normalise.sysmon.subject import (
    SYSTEM_PID,
    Data,
    report_image,
    subject_of,
    with_new_facts,
)
from vedette.ingest.normalise.values import digsig_result, free_text, is_true, known_text
from vedette.model.event import Filemod, FileOperation, Modload, Outcome, Processblock


def created(data: Data, ctx: HostContext, time_us: int) -> list[Outcome] | None:
    known = subject_of(data, ctx, time_us)
    if known is None:
        return None
    path = free_text(data.get("TargetFilename"))
    kind = file_type_of(path)
    return with_new_facts(
        Filemod(known.id, time_us, FileOperation.CREATED, path, file_type=kind), known
    )


def time_changed(data: Data, ctx: HostContext, time_us: int) -> list[Outcome] | None:
    known = subject_of(data, ctx, time_us)
    if known is None:
        return None
    before = known_text(data.get("PreviousCreationUtcTime"))
    now = known_text(data.get("CreationUtcTime"))
    path = free_text(data.get("TargetFilename"))
    event = Filemod(
        known.id,
        time_us,
        FileOperation.FIRST_WRITE,
        path,
        file_type=file_type_of(path),
        note=f"creation time changed from {before} to {now}",
    )
    return with_new_facts(event, known)


def stream_created(data: Data, ctx: HostContext, time_us: int) -> list[Outcome] | None:
    known = subject_of(data, ctx, time_us)
    if known is None:
        return None
    found = hashes_of(data.get("Hash") or "")
    event = Filemod(
        known.id,
        time_us,
        FileOperation.LAST_WRITE,
        free_text(data.get("TargetFilename")),
        found.md5 or ctx.md5_of(found.sha256),
        found.sha256,
        found.sha1,
        note=known_text(data.get("Contents")),
    )
    return with_new_facts(event, known)


def deleted(data: Data, ctx: HostContext, time_us: int) -> list[Outcome] | None:
    known = subject_of(data, ctx, time_us)
    if known is None:
        return None
    event = _hashed_file(data, ctx, known, time_us, FileOperation.DELETED)
    if is_true(data.get("Archived")):
        event.note = "archived"
    return with_new_facts(event, known)


def executable_written(data: Data, ctx: HostContext, time_us: int) -> list[Outcome] | None:
    known = subject_of(data, ctx, time_us)
    if known is None:
        return None
    event = _hashed_file(data, ctx, known, time_us, FileOperation.LAST_WRITE)
    event.file_type = PE
    out = with_new_facts(event, known)
    report_image(data, ctx, event.path, time_us, out)
    return out


def executable_blocked(data: Data, ctx: HostContext, time_us: int) -> list[Outcome] | None:
    """Converts Sysmon 27: the write as a filemod, the block as a processblock."""
    known = subject_of(data, ctx, time_us)
    if known is None:
        return None
    event = _hashed_file(data, ctx, known, time_us, FileOperation.LAST_WRITE)
    event.file_type = PE
    block = Processblock(
        known.id,
        time_us,
        0,  # blocked by Sysmon's configuration, not by a ban
        path=event.path,
        md5=event.md5,
        sha256=event.sha256,
        username=known_text(data.get("User")),
    )
    out: list[Outcome] = [event, block]
    known.report(out)
    report_image(data, ctx, event.path, time_us, out)
    return out


def shredding_blocked(data: Data, ctx: HostContext, time_us: int) -> list[Outcome] | None:
    """Converts Sysmon 28: a secure deletion that Sysmon blocked."""
    known = subject_of(data, ctx, time_us)
    if known is None:
        return None
    event = _hashed_file(data, ctx, known, time_us, FileOperation.LAST_WRITE)
    event.note = "shredding blocked"
    return with_new_facts(event, known)


def _hashed_file(
    data: Data, ctx: HostContext, known: ProcessState, time_us: int, operation: FileOperation
) -> Filemod:
    found = hashes_of(data.get("Hashes") or "")
    path, executable = free_text(data.get("TargetFilename")), data.get("IsExecutable")
    kind = PE if is_true(executable) else file_type_of(path)
    if kind == PE and executable is not None and not is_true(executable):
        kind = 0  # Sysmon checked the content, which overrides the extension
    return Filemod(
        known.id,
        time_us,
        operation,
        path,
        found.md5 or ctx.md5_of(found.sha256),
        found.sha256,
        found.sha1,
        kind,
    )


def module_loaded(data: Data, ctx: HostContext, time_us: int) -> list[Outcome] | None:
    known = subject_of(data, ctx, time_us)
    return None if known is None else _loaded(data, ctx, known, time_us)


def driver_loaded(data: Data, ctx: HostContext, time_us: int) -> list[Outcome] | None:
    return _loaded(data, ctx, ctx.alive(SYSTEM_PID, time_us, "System"), time_us)


def _loaded(data: Data, ctx: HostContext, known: ProcessState, time_us: int) -> list[Outcome]:
    get = data.get
    path, hashes = known_text(get("ImageLoaded")), get("Hashes")
    image = ctx.learn_image(path, hashes, time_us) if path and hashes else None
    found = NO_HASHES if image is None else image.hashes
    event = Modload(
        known.id,
        time_us,
        path,
        found.md5 or ctx.md5_of(found.sha256),
        found.sha256,
        found.sha1,
        digsig_result(get("Signed"), get("SignatureStatus")),
        known_text(get("Signature")),
    )
    out = with_new_facts(event, known)
    if image is not None and not image.is_reported:
        image.report(out)
    return out

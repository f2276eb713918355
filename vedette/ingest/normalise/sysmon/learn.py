"""Learners of Sysmon events: processes, images, addresses and names."""

from vedette.ingest.context.host_context import HostContext
from vedette.ingest.context.image_cache import Image
from vedette.ingest.hashes import NO_HASHES, Hashes
from vedette.ingest.normalise.sysmon.subject import SYSTEM_PID, Data, see_process
from vedette.ingest.normalise.values import digsig_result, is_true, known_text, number
from vedette.model.address import pack_address
from vedette.model.event import UNKNOWN_IP
from vedette.model.metadata_rank import Rank

_OTHERS = int(Rank.OTHERS)


def learn_subject(data: Data, ctx: HostContext, rank: int = int(Rank.OWN)) -> None:
    get = data.get
    see_process(ctx, get("ProcessGuid"), get("ProcessId"), get("Image"), get("User"), rank)


def learn_start(data: Data, ctx: HostContext, time_us: int) -> None:
    get = data.get
    learn_subject(data, ctx, Rank.CREATION)
    see_process(
        ctx,
        get("ParentProcessGuid"),
        get("ParentProcessId"),
        get("ParentImage"),
        get("ParentUser"),
        _OTHERS,
    )
    image = _learn_image(data, ctx, "Image", "Hashes", time_us)
    known = ctx.by_guid(get("ProcessGuid") or "")
    if known is None:
        return
    parent = ctx.by_guid(get("ParentProcessGuid") or "")
    if parent is not None:
        parent.learn(cmdline=known_text(get("ParentCommandLine")), rank=_OTHERS)
    known.created = True
    found = image.hashes if image else NO_HASHES
    parent_id = parent.id if parent else ""
    known.learn(md5=found.md5, sha256=found.sha256, parent_id=parent_id)
    if parent is None:
        known.learn_parent(number(get("ParentProcessId")), known_text(get("ParentImage")))
    logon_id = known_text(get("LogonId")).lower()
    if logon_id:
        ctx.learn_logon_process(logon_id, known)


def learn_end(data: Data, ctx: HostContext, time_us: int) -> None:
    learn_subject(data, ctx)
    known = ctx.named(data.get("ProcessGuid") or "")
    if known is not None:
        known.ended = True
        known.learn(end_us=time_us)
    elif number(data.get("ProcessId")):
        ctx.learn_end(number(data.get("ProcessId")), time_us)


def learn_connection(data: Data, ctx: HostContext, _time_us: int) -> None:
    learn_subject(data, ctx)
    if is_true(data.get("Initiated")):
        ctx.learn_local(pack_address(data.get("SourceIp") or ""))


def learn_module(data: Data, ctx: HostContext, time_us: int) -> None:
    learn_subject(data, ctx)
    _learn_image(data, ctx, "ImageLoaded", "Hashes", time_us)


def learn_driver(data: Data, ctx: HostContext, time_us: int) -> None:
    ctx.mention(SYSTEM_PID, "System")
    _learn_image(data, ctx, "ImageLoaded", "Hashes", time_us)


def learn_pair(data: Data, ctx: HostContext) -> None:
    get = data.get
    see_process(
        ctx,
        get("SourceProcessGUID") or get("SourceProcessGuid"),
        get("SourceProcessId"),
        get("SourceImage"),
        get("SourceUser"),
    )
    see_process(
        ctx,
        get("TargetProcessGUID") or get("TargetProcessGuid"),
        get("TargetProcessId"),
        get("TargetImage"),
        get("TargetUser"),
        _OTHERS,
    )


def learn_query(data: Data, ctx: HostContext, time_us: int) -> None:
    learn_subject(data, ctx)
    name, results = known_text(data.get("QueryName")), data.get("QueryResults")
    if not name or not results:
        return
    for answer in results.split(";"):
        address = pack_address(answer) if answer and not answer.startswith("type:") else UNKNOWN_IP
        if address != UNKNOWN_IP:
            ctx.learn_answer(address, name, time_us)


def learn_file(data: Data, ctx: HostContext, time_us: int) -> None:
    learn_subject(data, ctx)
    _learn_image(data, ctx, "TargetFilename", "Hashes", time_us)


def _learn_image(
    data: Data, ctx: HostContext, path: str, hashes: str, time_us: int
) -> Image | None:
    """Registers a file with its version and signature. Returns None without a path or hash."""
    get = data.get
    name, found = known_text(get(path)), get(hashes)
    if not name or not found:
        return None
    image = ctx.learn_image(name, found, time_us)
    # The hash determines the version. Only the result of the signature check can change, and the
    # number of fields, which depends on the event id and version.
    status, field_count = get("SignatureStatus"), len(data)
    if image.status != status or image.field_count != field_count:
        image.learn(_image_values(data, image.hashes))
        image.status, image.field_count = status, field_count
    return image


_VERSION_FIELDS = (
    ("file_version", "FileVersion"),
    ("file_desc", "Description"),
    ("product_name", "Product"),
    ("company_name", "Company"),
    ("original_filename", "OriginalFileName"),
    ("digsig_publisher", "Signature"),
)


def _image_values(data: Data, found: Hashes) -> dict[str, str]:
    values = {column: known_text(data.get(name)) for column, name in _VERSION_FIELDS}
    values["imphash"] = found.imphash
    values["digsig_result"] = digsig_result(data.get("Signed"), data.get("SignatureStatus"))
    values["is_executable_image"] = "1"
    return {column: value for column, value in values.items() if value}

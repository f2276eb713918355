"""Facts about a program's image and code signature from macOS: Endpoint Security and osquery.

A signature names no certificate, only the signer's team, the name used for signing, and the
kernel's flags (kern/cs_blobs.h of XNU). The cdhash is a hash of the code directory, not of the
file, so a binary can only be recorded if the sender adds a hash: Jamf Protect does, eslogger does
not, and an osquery query may join the table `hash`.
"""

from typing import Any

from vedette.ingest.decode.shipper import member
from vedette.ingest.hashes import Hashes, hashes_of
from vedette.ingest.normalise.values import free_text, number

_VALID, _ADHOC, _SIGNED = 0x0000_0001, 0x0000_0002, 0x2000_0000
_64_BIT = 0x0100_0000
"""CPU_ARCH_ABI64 flag of a CPU type."""

_APPLE = "Apple Inc."
"""Publisher of a platform binary, which has no team."""

Values = dict[str, str]
"""Columns of `columns.BINARY`."""


def hashes_of_file(file: Any) -> Hashes:
    """Returns the hashes of an Endpoint Security file object, if the sender adds them."""
    found = {name: member(file, (name,)) for name in ("md5", "sha1", "sha256")}
    return hashes_of(",".join(f"{name}={text}" for name, text in found.items() if text))


def executed_image(exec_event: Any) -> Values:
    """Returns the facts in an exec event about the new image."""
    target = exec_event["target"]
    cpu = number(exec_event.get("image_cputype"))
    flags = target.get("codesigning_flags")
    return _known(
        is_executable_image="1",
        is_64bit="1" if cpu & _64_BIT else "0" if cpu else "",
        orig_mod_len=_size(member(target, ("executable", "stat", "st_size"))),
        digsig_result=_result(flags) if isinstance(flags, int) else "",
        **_signer(target, is_platform=target.get("is_platform_binary") is True),
    )


def executed_row(row: dict[str, Any]) -> Values:
    """Like `executed_image`, for a row of osquery's `es_process_events`."""
    is_platform = str(row.get("platform_binary") or "0") not in {"0", "false"}
    signer = _signer(row, is_platform=is_platform)
    return _known(
        is_executable_image="1",
        digsig_result=_row_result(row, has_signer=bool(signer["digsig_publisher"])),
        **signer,
    )


def _known(**values: str) -> Values:
    return {name: free_text(value) for name, value in values.items() if value}


def _size(found: Any) -> str:
    return str(size) if (size := number(found, 1 << 63)) else ""


def _signer(holder: Any, *, is_platform: bool) -> Values:
    return {
        "digsig_publisher": _APPLE if is_platform else str(holder.get("team_id") or ""),
        "digsig_prog_name": str(holder.get("signing_id") or ""),
    }


def _result(flags: int) -> str:
    """Returns one of `field.SIGN_RESULTS`. An ad-hoc signature has no certificate and counts as
    unsigned."""
    if not flags & _SIGNED or flags & _ADHOC:
        return "Unsigned"
    return "Signed" if flags & _VALID else "Bad Signature"


def _row_result(row: dict[str, Any], *, has_signer: bool) -> str:
    """Like `_result`, from osquery's names of unusual flags. Without that column, a signer implies
    a signature."""
    flags = set(str(row.get("codesigning_flags") or "").replace(" ", "").split(","))
    if "ADHOC" in flags or ("cdhash" in row and not str(row["cdhash"] or "").strip("0")):
        return "Unsigned"
    if "NOT_VALID" in flags:
        return "Bad Signature"
    return "Signed" if has_signer else ""

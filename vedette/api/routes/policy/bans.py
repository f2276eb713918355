"""Banned hashes (docs/bans.md) under all the names that clients know."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Final

from fastapi import Depends
from starlette.responses import Response

from vedette.api.http.access import principal_of, scope_of_request
from vedette.api.http.request_bodies import json_object
from vedette.api.http.responses import json_answer
from vedette.api.http.router import Router
from vedette.api.schemas.ban import (
    expiry_us,
    reach_body,
    runs_on_body,
    wanted_hashes,
    without_request_members,
)
from vedette.api.schemas.stale_changes import as_it_was
from vedette.api.schemas.whole_counts import counts_within
from vedette.api.schemas.wire_values import instant, known_instant
from vedette.api.services import Services, services
from vedette.errors import BadRequestError, ConflictError, ForbiddenError
from vedette.limits import RUNNING_PROCESS_SEEN_US
from vedette.model.principal import Principal, Role
from vedette.model.scope import Scope
from vedette.respond.ban_reach import ban_reach, protection_of
from vedette.state.accounts.users import id_of
from vedette.state.policy import bans, groups
from vedette.state.policy.bans import Ban, BanAuthor
from vedette.store.read.binaries import binaries_of, claimed_sha256
from vedette.store.read.running_hosts import running

router = Router(tags=["bans"])

Here = Annotated[Services, Depends(services)]
Caller = Annotated[Principal, Depends(principal_of)]
Within = Annotated[Scope, Depends(scope_of_request)]
Body = Annotated[dict[str, Any], Depends(json_object)]


_LIST: Final = "/api/v1/banning/bannedlist"
_OLDER: Final = "/api/v1/banning/blacklist"
_RESTRICTED: Final = "/api/v1/banning/restrictedlist"

_MD5: Final = re.compile(r"[0-9a-fA-F]{32}")
_READ_ONLY: Final = frozenset(
    (
        "audit", "ban_count", "expires", "block_count", "last_ban_host", "last_ban_time",
        "claimed_sha256", "last_block_hostname", "last_block_sensor_id", "last_block_time",
        "result", "running", "sha256hash", "timestamp", "user_id", "username", "was",
    )
)  # fmt: skip
"""Members that clients send back with a record and that cannot be set."""


@router.get(_RESTRICTED, summary="All bans")
@router.get(_OLDER, summary="All bans")
@router.get(_LIST, summary="All bans")
def listed(here: Here, scope: Within) -> Response:
    """By md5, disabled ones too. The last block is left out where the caller does not see its
    host, and `block_count` is 0 where they do not see all."""
    return json_answer([_body(ban, scope) for ban in bans.all_bans(here.database)])


@router.post(_RESTRICTED, summary="Ban a program")
@router.post(_OLDER, summary="Ban a program")
@router.post(_LIST, summary="Ban a program")
def create(here: Here, caller: Caller, scope: Within, body: Body) -> Response:
    """Takes `md5hash`, `text`, `enabled` and `expires`; 409 when it is banned already. The answer
    is the record, with `running`: where the program runs now, of the hosts that the caller sees. A
    ban that is created with `enabled` false is never in force. `md5hashes` bans a list, with an
    outcome for each. With `dry_run` nothing is banned: `programs` says of each where it is known
    and runs, who signed it, and why it is protected; `even_protected` bans it all the same."""
    members = _members(without_request_members(body))
    if "md5hash" not in members and "md5hashes" not in body:
        raise BadRequestError("md5hash: is missing")
    if body.get("dry_run"):
        return _reaches(here, scope, body)
    _check_right(here, caller)
    if "md5hashes" in body:
        return _list(here, caller, scope, body, members.get("text") or "")
    md5, now_us = checked_md5(members["md5hash"]), here.clock.now_us()
    text, enabled = members.get("text") or "", members.get("enabled", True)
    if not body.get("even_protected"):
        _check_protection(here, md5, scope)
    ban = bans.add(
        here.database, md5, text, _author(here, caller), now_us,
        enabled=enabled, expires_us=expiry_us(body, now_us),
    )  # fmt: skip
    found = running(here.engine, md5, scope, now_us - RUNNING_PROCESS_SEEN_US)
    return json_answer(
        _body(ban, scope)
        | {
            "result": "success",
            "running": [runs_on_body(one) for one in found],
            "claimed_sha256": claimed_sha256(here.engine, md5, scope),
        }
    )


def _reaches(here: Services, scope: Scope, body: Mapping[str, Any]) -> Response:
    now_us = here.clock.now_us()
    banned = {ban.md5 for ban in bans.all_bans(here.database) if ban.enabled}
    found = [ban_reach(here.engine, checked_md5(md5), scope, now_us) for md5 in wanted_hashes(body)]
    programs = [reach_body(one, is_banned=one.digest in banned) for one in found]
    return json_answer({"result": "success", "dry_run": True, "programs": programs})


def _list(
    here: Services, caller: Principal, scope: Scope, body: Mapping[str, Any], text: str
) -> Response:
    """Bans one after the other: what is refused does not stop the others."""
    wanted = [checked_md5(one) for one in wanted_hashes(body)]
    now_us, by = here.clock.now_us(), _author(here, caller)
    expires_us = expiry_us(body, now_us)
    results = []
    for md5 in wanted:
        try:
            if not body.get("even_protected"):
                _check_protection(here, md5, scope)
            bans.add(here.database, md5, text, by, now_us, expires_us=expires_us)
            results.append({"md5hash": md5, "result": "banned", "reason": ""})
        except ConflictError as error:
            results.append({"md5hash": md5, "result": "refused", "reason": str(error)})
    return json_answer({"result": "success", "results": results})


def _check_protection(here: Services, md5: str, scope: Scope) -> None:
    known = binaries_of(here.engine, [md5], scope)
    protection = protection_of(
        [str(path) for path in known[0]["observed_filename"]] if known else []
    )
    if protection:
        raise ConflictError(
            f"{md5} is protected: {protection}; `even_protected` bans it all the same",
            reason="protected",
        )


@router.get(f"{_RESTRICTED}/{{md5}}", summary="One ban")
@router.get(f"{_OLDER}/{{md5}}", summary="One ban")
@router.get(f"{_LIST}/{{md5}}", summary="One ban")
def one(md5: str, here: Here, scope: Within) -> Response:
    """Also one that is disabled. `claimed_sha256` lists what sensors report for the MD5: more than
    one means that one of them is false."""
    ban = bans.get(here.database, checked_md5(md5))
    claims = claimed_sha256(here.engine, ban.md5, scope)
    return json_answer(_body(ban, scope) | {"claimed_sha256": claims})


@router.put(f"{_RESTRICTED}/{{md5}}", summary="Change a ban")
@router.put(f"{_OLDER}/{{md5}}", summary="Change a ban")
@router.put(f"{_LIST}/{{md5}}", summary="Change a ban")
def change(md5: str, here: Here, caller: Caller, scope: Within, body: Body) -> Response:
    """Takes `text` and `enabled`; what is not given stays. The answer is the record. 409
    `changed_meanwhile` where one of them is not as `was` says."""
    md5, members = checked_md5(md5), _members(body)
    if checked_md5(members.get("md5hash", md5)) != md5:
        raise BadRequestError(f"md5hash: must be {md5}")
    bans.get(here.database, md5)
    _check_right(here, caller)
    ban = bans.change(
        here.database,
        md5,
        enabled=members.get("enabled"),
        text=members["text"] or "" if "text" in members else None,
        by=_author(here, caller),
        now_us=here.clock.now_us(),
        check=as_it_was(body, _settings),
    )
    return json_answer(_body(ban, scope) | {"result": "success"})


@router.delete(f"{_RESTRICTED}/{{md5}}", summary="Disable a ban")
@router.delete(f"{_OLDER}/{{md5}}", summary="Disable a ban")
@router.delete(f"{_LIST}/{{md5}}", summary="Disable a ban")
def delete(md5: str, here: Here, caller: Caller) -> Response:
    """The record stays, disabled, with its history."""
    md5 = bans.get(here.database, checked_md5(md5)).md5
    _check_right(here, caller)
    now_us, by = here.clock.now_us(), _author(here, caller)
    bans.change(here.database, md5, enabled=False, text=None, by=by, now_us=now_us)
    return json_answer({"result": "success"})


def checked_md5(text: object) -> str:
    """An md5 in lower case. Raises BadRequestError."""
    if not isinstance(text, str) or not _MD5.fullmatch(text):
        raise BadRequestError(f"md5hash: {str(text)[:40]!r} is not 32 hexadecimal digits")
    return text.lower()


def _check_right(here: Services, caller: Principal) -> None:
    """A ban is in force on every host: it needs the Analyst role in every sensor group."""
    if caller.is_global_admin:
        return
    for group in groups.all_groups(here.database):
        if caller.role_in(group.id) < Role.ANALYST:
            raise ForbiddenError(
                f"{caller.name} may not ban: that needs the role of an analyst in every sensor "
                "group, or a global administrator"
            )


def _members(body: Mapping[str, Any]) -> dict[str, Any]:
    members = {name: value for name, value in body.items() if name not in _READ_ONLY}
    for name, value in members.items():
        match name:
            case "md5hash":
                checked_md5(value)
            case "text":
                if value is not None and not isinstance(value, str):
                    raise BadRequestError("text: must be a text")
            case "enabled":
                if not isinstance(value, bool):
                    raise BadRequestError("enabled: must be true or false")
            case _:
                raise BadRequestError(f"there is no member {name[:60]!r} of a ban")
    return members


def _settings(ban: Ban) -> dict[str, Any]:
    return {"text": ban.text, "enabled": ban.enabled}


def _author(here: Services, caller: Principal) -> BanAuthor:
    return BanAuthor(id_of(here.database, caller.name), caller.name)


def _body(ban: Ban, scope: Scope) -> dict[str, Any]:
    body: dict[str, Any] = {
        "md5hash": ban.md5,
        "sha256hash": ban.sha256 or None,
        "text": ban.text,
        "enabled": ban.enabled,
        "username": ban.username,
        "user_id": ban.user_id,
        "timestamp": instant(ban.time_us),
        "expires": known_instant(ban.expires_us),
        "block_count": ban.block_count,
        "last_block_sensor_id": None,
        "last_block_time": None,
        "last_block_hostname": None,
        "audit": [
            {
                "username": one.username,
                "user_id": one.user_id,
                "timestamp": instant(one.time_us),
                "text": one.text,
                "enabled": one.enabled,
            }
            for one in ban.audit
        ],
    }
    if ban.last_block_us and scope.allows(ban.last_block_sensor_id):
        body |= {
            "last_block_sensor_id": ban.last_block_sensor_id,
            "last_block_time": instant(ban.last_block_us),
            "last_block_hostname": ban.last_block_hostname,
        }
    return counts_within(body, scope)

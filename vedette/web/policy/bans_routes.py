"""Routes of banned hashes (docs/bans.md), under every path that clients use."""

import re
from typing import Annotated, Any, Final

from fastapi import Depends
from starlette.responses import Response

from vedette.errors import BadRequestError, ConflictError
from vedette.limits import RUNNING_PROCESS_SEEN_US
from vedette.model.principal import Principal
from vedette.model.rights.authorization import EVERYWHERE, Deed, require
from vedette.model.scope import Scope
from vedette.record.answers import many
from vedette.record.bodies import Sent
from vedette.record.objects.ban import (
    BAN,
    BAN_CHANGE,
    BAN_WITH_CLAIMS,
    CHANGED_BAN,
    MADE_BAN,
    NEW_BAN,
    Ban,
    BanRequest,
    NewBanRequest,
)
from vedette.respond.ban_reach import ban_reach, protection_of
from vedette.state.accounts.users import id_of
from vedette.state.policy import bans
from vedette.state.policy.bans import BanAuthor
from vedette.store.read.binaries import binaries_of, claimed_sha256
from vedette.store.read.running_hosts import running
from vedette.web.http.access import principal_of, scope_of_request
from vedette.web.http.bodies.declared_bodies import json_body
from vedette.web.http.responses import json_answer
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.services import Services, services
from vedette.web.json.whole_counts import record_within
from vedette.web.policy.bans_json import reach_body, runs_on_body, wanted_hashes

router = Router(tags=["bans"])

Here = Annotated[Services, Depends(services)]
Caller = Annotated[Principal, Depends(principal_of)]
Within = Annotated[Scope, Depends(scope_of_request)]


_LIST: Final = "/api/v1/banning/bannedlist"
_OLDER: Final = "/api/v1/banning/blacklist"
_RESTRICTED: Final = "/api/v1/banning/restrictedlist"

_MD5: Final = re.compile(r"[0-9a-fA-F]{32}")


@router.get(_RESTRICTED, right=Right.VIEW, summary="List bans", response_model=many(BAN))
@router.get(_OLDER, right=Right.VIEW, summary="List bans", response_model=many(BAN))
@router.get(_LIST, right=Right.VIEW, summary="List bans", response_model=many(BAN))
def listed(here: Here, scope: Within) -> Response:
    """Returns all bans, also disabled ones, sorted by md5. Omits the last block if the caller does
    not see its host. `block_count` is 0 if the caller does not see all hosts."""
    return json_answer([_body(ban, scope) for ban in bans.all_bans(here.database)])


@router.post(_RESTRICTED, right=Right.ACT, summary="Ban a program", response_model=MADE_BAN)
@router.post(_OLDER, right=Right.ACT, summary="Ban a program", response_model=MADE_BAN)
@router.post(_LIST, right=Right.ACT, summary="Ban a program", response_model=MADE_BAN)
def create(
    here: Here,
    caller: Caller,
    scope: Within,
    body: Annotated[Sent[NewBanRequest], Depends(json_body(NEW_BAN))],
) -> Response:
    """Creates a ban and returns its record. `running` lists the hosts, visible to the caller, on
    which the program runs now. A ban with `enabled` false is never in force. `md5hashes` bans a
    list and returns an outcome for each hash. `dry_run` bans nothing: `programs` states for each
    hash where it is known and runs, who signed it, and why it is protected. `even_protected` bans
    protected programs too. Error 409: the program is already banned, or it is protected."""
    new, request = Ban(**body.values), body.request
    if not new.md5 and not request.md5hashes:
        raise BadRequestError("md5hash: is required")
    if request.dry_run:
        return _reaches(here, scope, wanted_hashes(request.md5hashes or [new.md5]))
    require(caller, Deed.BAN, EVERYWHERE)
    now_us = here.clock.now_us()
    if 0 < new.expires_us <= now_us:
        raise BadRequestError("expires: must be in the future")
    if request.md5hashes:
        return _list(here, caller, scope, request, new)
    if not request.even_protected:
        _check_protection(here, new.md5, scope)
    ban = bans.add(
        here.database,
        new.md5,
        new.text,
        _author(here, caller),
        now_us,
        enabled=new.enabled,
        expires_us=new.expires_us,
    )
    found = running(here.engine, ban.md5, scope, now_us - RUNNING_PROCESS_SEEN_US)
    return json_answer(
        _body(ban, scope)
        | {
            "result": "success",
            "running": [runs_on_body(one) for one in found],
            "claimed_sha256": claimed_sha256(here.engine, ban.md5, scope),
        }
    )


def _reaches(here: Services, scope: Scope, md5s: list[str]) -> Response:
    now_us = here.clock.now_us()
    banned = {ban.md5 for ban in bans.all_bans(here.database) if ban.enabled}
    found = [ban_reach(here.engine, md5, scope, now_us) for md5 in md5s]
    programs = [reach_body(one, is_banned=one.digest in banned) for one in found]
    return json_answer({"result": "success", "dry_run": True, "programs": programs})


def _list(
    here: Services, caller: Principal, scope: Scope, request: NewBanRequest, new: Ban
) -> Response:
    """Bans the hashes in order. A refused hash does not prevent the bans of the others."""
    now_us, by = here.clock.now_us(), _author(here, caller)
    results = []
    for md5 in wanted_hashes(request.md5hashes):
        try:
            if not request.even_protected:
                _check_protection(here, md5, scope)
            bans.add(here.database, md5, new.text, by, now_us, expires_us=new.expires_us)
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


@router.get(
    f"{_RESTRICTED}/{{md5}}", right=Right.VIEW, summary="Get a ban", response_model=BAN_WITH_CLAIMS
)
@router.get(
    f"{_OLDER}/{{md5}}", right=Right.VIEW, summary="Get a ban", response_model=BAN_WITH_CLAIMS
)
@router.get(
    f"{_LIST}/{{md5}}", right=Right.VIEW, summary="Get a ban", response_model=BAN_WITH_CLAIMS
)
def one(md5: str, here: Here, scope: Within) -> Response:
    """Returns a ban, also a disabled one. `claimed_sha256` lists the SHA-256 values that sensors
    report for the MD5. If there are several, at least one report is false."""
    ban = bans.get(here.database, checked_md5(md5))
    claims = claimed_sha256(here.engine, ban.md5, scope)
    return json_answer(_body(ban, scope) | {"claimed_sha256": claims})


@router.put(
    f"{_RESTRICTED}/{{md5}}", right=Right.ACT, summary="Change a ban", response_model=CHANGED_BAN
)
@router.put(
    f"{_OLDER}/{{md5}}", right=Right.ACT, summary="Change a ban", response_model=CHANGED_BAN
)
@router.put(f"{_LIST}/{{md5}}", right=Right.ACT, summary="Change a ban", response_model=CHANGED_BAN)
def change(
    md5: str,
    here: Here,
    caller: Caller,
    scope: Within,
    body: Annotated[Sent[BanRequest], Depends(json_body(BAN_CHANGE))],
) -> Response:
    """Changes `text` and `enabled`, if they are given, and returns the record. Error 409
    `changed_meanwhile`: a member differs from its value in `was`."""
    md5 = checked_md5(md5)
    if body.identity.get("md5", md5) != md5:
        raise BadRequestError(f"md5hash: must be {md5}")
    bans.get(here.database, md5)
    require(caller, Deed.BAN, EVERYWHERE)
    ban = bans.change(
        here.database,
        md5,
        enabled=body.values.get("enabled"),
        text=body.values.get("text"),
        by=_author(here, caller),
        now_us=here.clock.now_us(),
        check=lambda known: body.check_unchanged(_body(known, scope)),
    )
    return json_answer(_body(ban, scope) | {"result": "success"})


@router.delete(f"{_RESTRICTED}/{{md5}}", right=Right.ACT, summary="Disable a ban")
@router.delete(f"{_OLDER}/{{md5}}", right=Right.ACT, summary="Disable a ban")
@router.delete(f"{_LIST}/{{md5}}", right=Right.ACT, summary="Disable a ban")
def delete(md5: str, here: Here, caller: Caller) -> Response:
    """Disables a ban. The record remains, with its history."""
    md5 = bans.get(here.database, checked_md5(md5)).md5
    require(caller, Deed.BAN, EVERYWHERE)
    now_us, by = here.clock.now_us(), _author(here, caller)
    bans.change(here.database, md5, enabled=False, text=None, by=by, now_us=now_us)
    return json_answer({"result": "success"})


def checked_md5(text: object) -> str:
    """Returns an MD5 in lower case. Raises BadRequestError."""
    if not isinstance(text, str) or not _MD5.fullmatch(text):
        raise BadRequestError(f"md5hash: {str(text)[:40]!r} is not 32 hexadecimal digits")
    return text.lower()


def _author(here: Services, caller: Principal) -> BanAuthor:
    return BanAuthor(id_of(here.database, caller.name), caller.name)


def _body(ban: Ban, scope: Scope) -> dict[str, Any]:
    body = record_within(ban, scope)
    if ban.last_block_us and scope.allows(ban.last_block_sensor_id):
        return body
    return body | dict.fromkeys(
        ("last_block_sensor_id", "last_block_time", "last_block_hostname"), None
    )

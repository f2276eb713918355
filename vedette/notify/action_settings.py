"""Rules for changing the actions of a source, and for who may change which action.

- The alert and syslog actions belong to the source. Changing a source's own action changes what all
  groups receive; `Editor.source_right` is the required right.
- Mail belongs to its reader: users see and change their own, global administrators all.
- A webhook of a user who is not a global administrator is private, and posts only about hosts that
  the user may see. A webhook of an administrator belongs to the source, and only administrators
  change its URL.

The URL of a webhook is a secret: it is shown without its path, and a URL that is sent back in that
form stays unchanged. Keys are dropped when the host changes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from vedette.errors import BadRequestError, NotFoundError
from vedette.limits import WEBHOOK_SECRET_CHARS_MAX, Limit
from vedette.model.findings.action import (
    ACTION_NAMES,
    ALERTS_BY_DEFAULT,
    EVERY_SOURCE,
    RECIPIENTS,
    Action,
    ActionType,
)
from vedette.model.findings.detection import Source
from vedette.model.principal import Principal
from vedette.model.rights.authorization import EVERYWHERE, Deed, Managed, may, owned_by, require
from vedette.notify.http_post import checked_url, place_of
from vedette.notify.json_template import template_of
from vedette.notify.targets import RECEIVER, receiver_name
from vedette.notify.webhook import Receiver
from vedette.notify.webhook_receivers import opened, sealed
from vedette.state.db.database import Transaction
from vedette.state.db.sealing import Sealing
from vedette.state.policy import actions
from vedette.state.policy.actions import NewAction

MAIL_RECIPIENTS_MAX: Limit[int] = 1_000
"""Users to whom one action sends mail."""

WEBHOOK_PARAMS_MAX: Limit[int] = 20
"""Parameters of a webhook's template."""


_HIDDEN: Final = "/***"
_SECRETS: Final = ("secret", "authorization", "params")
_MEMBERS: Final = frozenset(("url", "template", *_SECRETS))
Right = tuple[Deed, Managed]
"""The deed and object that an authorization check needs."""

_SHOWN_ONLY: Final = frozenset(("secret_set", "authorization_set", "params_set"))


@dataclass(frozen=True, slots=True)
class Editor:
    """The user who changes actions. `source_right` is required to change an action that belongs to
    the source, `has_default` tells whether the settings name a webhook receiver, `templates` is the
    folder of the operator's own templates."""

    user_id: int
    caller: Principal
    source_right: Right
    sealing: Sealing
    now_us: int
    has_default: bool = False
    templates: Path | None = None

    @property
    def is_global_admin(self) -> bool:
        return self.caller.is_global_admin


def action_types(transaction: Transaction, source: Source, user_id: int) -> dict[str, bool]:
    """Maps each action's name to whether it is on; mail refers to this user."""
    known = actions.of_source(transaction, source)
    return {name: _is_on(known, source, kind, user_id) for kind, name in ACTION_NAMES.items()}


def switch(
    transaction: Transaction,
    source: Source,
    kind: ActionType,
    enabled: bool,
    by: Editor,
    members: Mapping[str, Any],
) -> None:
    """Switches an action on or off; `members` are the parameters of a webhook.

    Raises BadRequestError, ForbiddenError.
    """
    if members and kind is not ActionType.HTTP:
        raise BadRequestError(f"{min(members)}: is only valid for http actions")
    if kind is ActionType.EMAIL:
        _switch_mail(transaction, source, enabled, by)
        return
    known = [
        one
        for one in actions.of_source(transaction, source)
        if one.type is kind and one.user_id in (0, by.user_id)
    ]
    if members:
        known = [one for one in known if _may_lead(one, by)][:1]
    for one in changeable(known, by):
        data, secret = _receiver(transaction, by, one, members) if members else (None, None)
        actions.change(transaction, one.id, by.now_us, enabled=enabled, data=data, secret=secret)
    if not known and (enabled or kind is ActionType.ALERT):
        _add(transaction, source, kind, enabled, by, members)


def listed(transaction: Transaction, source: Source, by: Editor) -> list[Action]:
    """Returns the stored actions that the editor may see. Omits disabled ones, since old clients
    treat listed actions as enabled, except webhooks, which appear only here."""
    return [
        one
        for one in actions.of_source(transaction, source)
        if (one.enabled or one.type is ActionType.HTTP)
        and (by.is_global_admin or _is_shared(one, by))
    ]


def get(transaction: Transaction, source: Source, action_id: int, by: Editor) -> Action:
    """Returns an action that the editor may see. Raises NotFoundError."""
    one = actions.get(transaction, source, action_id)
    if not by.is_global_admin and not _is_shared(one, by):
        raise NotFoundError(f"action {action_id} not found")
    return one


def add(
    transaction: Transaction,
    source: Source,
    kind: ActionType,
    members: Mapping[str, Any],
    by: Editor,
) -> int:
    """Adds an action, for the legacy routes, and returns its id. If only one such action can exist
    and it does, enables it. Raises BadRequestError, ForbiddenError, ConflictError."""
    if kind is ActionType.EMAIL:
        return _add_mail(transaction, source, _recipients(members, by), by)
    if kind is ActionType.HTTP:
        return _add(transaction, source, kind, True, by, members)
    for one in actions.of_source(transaction, source):
        if one.type is kind:
            require(by.caller, *_change_right(source, kind, one.user_id, by))
            actions.change(transaction, one.id, by.now_us, enabled=True)
            return one.id
    return _add(transaction, source, kind, True, by, {})


def change(
    transaction: Transaction,
    source: Source,
    action_id: int,
    by: Editor,
    enabled: bool | None,
    members: Mapping[str, Any],
) -> None:
    """Changes an action. Raises NotFoundError, ForbiddenError, BadRequestError."""
    one = _editable(transaction, source, action_id, by)
    data: Mapping[str, Any] | None = None
    secret: str | None = None
    if one.type is ActionType.HTTP and members:
        if not _may_lead(one, by):
            require(by.caller, Deed.CHANGE_RECIPIENTS, EVERYWHERE)
        data, secret = _receiver(transaction, by, one, members)
    if one.type is ActionType.EMAIL and RECIPIENTS in members and not one.user_id:
        data = {RECIPIENTS: _recipients(members, by)}
    actions.change(transaction, one.id, by.now_us, enabled=enabled, data=data, secret=secret)


def remove(transaction: Transaction, source: Source, action_id: int, by: Editor) -> None:
    """Deletes an action. Raises NotFoundError, ForbiddenError."""
    one = _editable(transaction, source, action_id, by)
    actions.remove(transaction, one.id)


def shown_data(action: Action) -> dict[str, Any]:
    """Returns `action_data` without secrets."""
    if action.type is ActionType.EMAIL:
        return {RECIPIENTS: list(action.recipients)}
    if action.type is not ActionType.HTTP or not action.has_secret:
        return {}
    data = {name: value for name, value in action.data.items() if name != RECEIVER}
    return data | {"url": data["url"] + _HIDDEN}


def _is_on(known: list[Action], source: Source, kind: ActionType, user_id: int) -> bool:
    same = [one for one in known if one.type is kind]
    match kind:
        case ActionType.ALERT:
            return same[-1].enabled if same else source.kind in ALERTS_BY_DEFAULT
        case ActionType.EMAIL:
            return any(one.enabled and user_id in one.recipients for one in same)
        case _:
            return any(one.enabled and one.user_id in (0, user_id) for one in same)


def changeable(known: Sequence[Action], by: Editor) -> list[Action]:
    """Returns those of the actions that the editor may change. Raises ForbiddenError if there are
    actions and the editor may change none."""
    rights = [(one, _change_right(one.source, one.type, one.user_id, by)) for one in known]
    found = [one for one, right in rights if may(by.caller, *right)]
    if rights and not found:
        require(by.caller, *rights[0][1])
    return found


def switch_right(known: Sequence[Action], source: Source, kind: ActionType, by: Editor) -> Right:
    """Returns the right that switching an action requires; `known` are the source's actions."""
    is_own = kind is ActionType.EMAIL or any(
        one.type is kind and one.user_id == by.user_id for one in known
    )
    return _change_right(source, kind, by.user_id if is_own else 0, by)


def _change_right(source: Source, kind: ActionType, user_id: int, by: Editor) -> Right:
    """Returns the right that changing an action of a user, or of the source (0), requires.

    Actions for all rules or feeds need more than an analyst's rights, except mail.
    """
    if kind is ActionType.EMAIL and not user_id:
        return Deed.CHANGE_RECIPIENTS, EVERYWHERE
    if kind is not ActionType.EMAIL and (source.id == EVERY_SOURCE or not user_id):
        return by.source_right
    owner = by.caller.name if user_id == by.user_id else ""
    return Deed.CHANGE_OWN_ACTION, owned_by(owner)


def _switch_mail(transaction: Transaction, source: Source, enabled: bool, by: Editor) -> None:
    known = [one for one in actions.of_source(transaction, source) if one.type is ActionType.EMAIL]
    own = next((one for one in known if one.user_id == by.user_id), None)
    if not enabled:
        for one in known:
            if not one.user_id and by.user_id in one.recipients:
                others = [other for other in one.recipients if other != by.user_id]
                actions.change(transaction, one.id, by.now_us, data={RECIPIENTS: others})
    if own is not None:
        actions.change(transaction, own.id, by.now_us, enabled=enabled)
    elif enabled:
        new = NewAction(source, ActionType.EMAIL, True, by.user_id, {})
        actions.add(transaction, new, by.now_us)


def _add_mail(transaction: Transaction, source: Source, recipients: list[int], by: Editor) -> int:
    if recipients == [by.user_id]:
        _switch_mail(transaction, source, True, by)
        return next(
            one.id
            for one in actions.of_source(transaction, source)
            if one.type is ActionType.EMAIL and one.user_id == by.user_id
        )
    new = NewAction(source, ActionType.EMAIL, True, 0, {RECIPIENTS: recipients})
    return actions.add(transaction, new, by.now_us)


def _add(
    transaction: Transaction,
    source: Source,
    kind: ActionType,
    enabled: bool,
    by: Editor,
    members: Mapping[str, Any],
) -> int:
    data: Mapping[str, Any] = {}
    is_own = kind is ActionType.HTTP and bool(members) and not by.is_global_admin
    secret, user_id = "", by.user_id if is_own else 0
    require(by.caller, *_change_right(source, kind, user_id, by))
    if kind is ActionType.HTTP:
        if members:
            data, secret = _receiver(transaction, by, None, members)
        elif not by.has_default:
            raise BadRequestError("url: is missing, and the setting webhook_url names no other")
    new = NewAction(source, kind, enabled, user_id, data, secret)
    return actions.add(transaction, new, by.now_us)


def _receiver(
    transaction: Transaction, by: Editor, known: Action | None, members: Mapping[str, Any]
) -> tuple[dict[str, Any], str]:
    """Returns the stored form of a webhook after a change: data that may be shown, and the sealed
    rest."""
    unknown = sorted(set(members) - _MEMBERS - _SHOWN_ONLY)
    if unknown:
        raise BadRequestError(f"unknown field {unknown[0][:60]!r}")
    old = None
    if known is not None and known.has_secret:
        old = opened(by.sealing, actions.sealed_secret(transaction, known.id))
    new = _changed(old, members)
    template_of(new.template, by.templates)  # raises if it does not exist
    place = place_of(new.url)
    data = {
        "url": place,
        "template": new.template,
        "secret_set": bool(new.secret),
        "authorization_set": bool(new.authorization),
        "params_set": sorted(new.params),
        RECEIVER: receiver_name(place, new.url),
    }
    return data, sealed(by.sealing, new)


def _changed(old: Receiver | None, members: Mapping[str, Any]) -> Receiver:
    given = members.get("url")
    if given is None or (old is not None and given == place_of(old.url) + _HIDDEN):
        if old is None:
            raise BadRequestError("url: is required")
        new = old
    else:
        url = checked_url(given)
        new = old if old and place_of(old.url) == place_of(url) else Receiver(url)
        new = replace(new, url=url)
    if members.get("template"):
        new = replace(new, template=_text("template", members["template"]))
    if members.get("secret") is not None:
        new = replace(new, secret=_text("secret", members["secret"]))
    if members.get("authorization") is not None:
        new = replace(new, authorization=_text("authorization", members["authorization"]))
    if members.get("params") is not None:
        new = replace(new, params=_params(members["params"]))
    return new


def _text(name: str, value: Any) -> str:
    is_good = isinstance(value, str) and len(value) <= WEBHOOK_SECRET_CHARS_MAX
    if not is_good or not all(" " <= one <= "~" for one in value):
        raise BadRequestError(
            f"{name}: must be a string of at most {WEBHOOK_SECRET_CHARS_MAX} ASCII characters"
        )
    return str(value)


def _params(value: Any) -> dict[str, str]:
    if not isinstance(value, dict) or len(value) > WEBHOOK_PARAMS_MAX:
        raise BadRequestError(
            f"params: must be an object with at most {WEBHOOK_PARAMS_MAX} strings"
        )
    return {_text("params", name): _text(f"params.{name[:40]}", one) for name, one in value.items()}


def _recipients(members: Mapping[str, Any], by: Editor) -> list[int]:
    wanted = members.get(RECIPIENTS, [by.user_id])
    is_list = isinstance(wanted, list) and all(
        isinstance(one, int) and not isinstance(one, bool) and 0 < one < 1 << 31 for one in wanted
    )
    if not is_list or not wanted or len(wanted) > MAIL_RECIPIENTS_MAX:
        raise BadRequestError(
            f"{RECIPIENTS}: must be a list of 1 to {MAIL_RECIPIENTS_MAX} user ids"
        )
    if set(wanted) != {by.user_id}:
        require(by.caller, Deed.CHANGE_RECIPIENTS, EVERYWHERE)
    return sorted(set(wanted))


def _is_shared(action: Action, by: Editor) -> bool:
    """Whether the action belongs to the source or to this user."""
    if action.type is ActionType.EMAIL:
        return by.user_id in action.recipients
    return action.user_id in (0, by.user_id)


def _may_lead(action: Action, by: Editor) -> bool:
    """Whether the editor may change a webhook's URL."""
    return by.is_global_admin or action.user_id == by.user_id


def _editable(transaction: Transaction, source: Source, action_id: int, by: Editor) -> Action:
    one = get(transaction, source, action_id, by)
    require(by.caller, *_change_right(source, one.type, one.user_id, by))
    return one

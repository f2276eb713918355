"""The sensor group object of the API (docs/clients.md#requests), in and out."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from vedette.errors import BadRequestError
from vedette.ingest.pseudonyms import secret_pattern_problem
from vedette.limits import SECRET_PATTERN_CHARS_MAX, SECRET_PATTERNS_MAX
from vedette.model.group import WITHOUT_EFFECT
from vedette.model.principal import ROLE_NAMES, Role
from vedette.record.answers import to_json
from vedette.record.bodies import Sent
from vedette.record.objects.sensor_group import (
    OPTIONS,
    Group,
    GroupOptions,
    GroupRequest,
)
from vedette.respond.installer_texts import is_plain_url
from vedette.state.policy.groups import GroupChanges

TeamRoles = list[tuple[int, str, Role]]


def group_body(group: Group, hosts: int, teams: TeamRoles, server_url: str) -> dict[str, Any]:
    """A group. `server_url` is the default for a group without a URL of its own."""
    body = to_json(group)
    exclusions = [
        {"id": number, "group_id": group.id, **one}
        for number, one in enumerate(body["isolation_exclusions"], 1)
    ]
    return body | {
        "isolation_exclusions": exclusions,
        "sensorbackend_server": group.sensorbackend_server or server_url,
        "number_of_hosts": hosts,
        "team_access": [
            {"team_id": team_id, "team_name": name, "access_category": ROLE_NAMES[role]}
            for team_id, name, role in teams
        ],
    }


def group_changes(sent: Sent[GroupRequest]) -> GroupChanges:
    """The changes in a body. Raises BadRequestError for a URL that could not stand in an installer,
    and for a pattern that cannot be used."""
    options = {name: value for name, value in sent.values.items() if name in OPTIONS}
    own = {name: value for name, value in sent.values.items() if name not in OPTIONS}
    url = own.get("sensorbackend_server")
    if url and not (url.startswith("https://") and is_plain_url(url)):
        raise BadRequestError(
            "sensorbackend_server: must be an address like https://host:port, without other "
            "characters"
        )
    try:
        secret_patterns(options.get("secret_patterns", ()))
    except ValueError as error:
        raise BadRequestError(f"secret_patterns: {error}") from None
    return GroupChanges(**own, options=options, team_roles=_roles(sent.request))


def _roles(request: GroupRequest) -> dict[int, Role] | None:
    if request.team_access is None:
        return None
    by_name = {name: role for role, name in ROLE_NAMES.items()}
    return {one.team_id: by_name[one.access_category] for one in request.team_access}


UNUSED: Final = frozenset(
    (
        "address_resolution_hint",
        "collect_emet_events",
        "collect_moduleinfo",
        "datastore_server",
        "process_filter_level",
        "server_cert_id",
        "tamper_level",
        "vdi_enabled",
    )
)
"""Options that are stored for clients that read them back, but have no effect."""


def unused_options(changes: GroupChanges, known: GroupOptions) -> list[str]:
    """Returns a warning for every changed option that has no effect."""
    wanted = replace(known, **(changes.options or {}))
    unused = [name for name in sorted(UNUSED) if getattr(wanted, name) != getattr(known, name)]
    if wanted.event_exclusions != known.event_exclusions and any(
        WITHOUT_EFFECT in one.events_to_ignore for one in wanted.event_exclusions
    ):
        unused.append(f"event_exclusions of {WITHOUT_EFFECT}")
    return [f"{name}: is stored but has no effect on this server" for name in unused]


def secret_patterns(patterns: Sequence[str]) -> tuple[str, ...]:
    """Expressions for secrets. Raises ValueError with the place of one that cannot be used."""
    if len(patterns) > SECRET_PATTERNS_MAX:
        raise ValueError(f"must be a list of at most {SECRET_PATTERNS_MAX} texts")
    for number, one in enumerate(patterns):
        if len(one) > SECRET_PATTERN_CHARS_MAX:
            raise ValueError(
                f"[{number}]: must be a string of {SECRET_PATTERN_CHARS_MAX} characters"
            )
        problem = secret_pattern_problem(one)
        if problem:
            raise ValueError(f"[{number}]: {problem}")
    return tuple(patterns)

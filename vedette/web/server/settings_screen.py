"""Page of settings: values and their origins, connections, and license. For global administrators.
Of secrets it shows only whether they are set."""

import platform
from ipaddress import ip_network
from typing import Annotated, Any

import orjson
from anyio import to_thread
from fastapi import Depends, Request
from starlette.responses import Response

from vedette.model.principal import Principal
from vedette.notify.trial import targets_to_try
from vedette.respond.approved_reach import ApprovingReach, approving_reach
from vedette.settings import catalogue, shown
from vedette.state.accounts import identity_providers, users
from vedette.state.accounts import license as licenses
from vedette.state.jobs import forwarders, outbox
from vedette.state.policy import app_control, approved_addresses, groups
from vedette.state.policy.approved_addresses import is_in
from vedette.web.http.access import principal_of
from vedette.web.http.client_address import client_address
from vedette.web.http.pages import PAGE_TAG
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.services import Services, services
from vedette.web.json.parameters import ID_MAX, bounded_number
from vedette.web.page.render import render
from vedette.web.page.static_files import static_files

router = Router(tags=[PAGE_TAG], include_in_schema=False)

Here = Annotated[Services, Depends(services)]
Caller = Annotated[Principal, Depends(principal_of)]


@router.get("/ui/settings", right=Right.ADMINISTER, summary="Show settings")
async def settings(request: Request, here: Here, caller: Caller) -> Response:
    """For global administrators. Secrets are shown only as set or not set."""
    address = client_address(request, here.settings.trusted_proxies)

    def work() -> dict[str, Any]:
        return _kept(here, address) | _connected(here) | {"untried": _untried(here, caller.name)}

    return render(
        request,
        "server/settings.html",
        address=address,
        shown=_shown(here),
        current=here.settings,
        certificate=here.presented.facts,
        python=platform.python_version(),
        parts=orjson.loads(static_files()["vendor/MANIFEST.json"].content),
        **await to_thread.run_sync(work),
    )


@router.get(
    "/ui/_/settings/approved/{without}",
    right=Right.ADMINISTER,
    summary="Preview who the approved list would lock out",
)
async def approving(without: str, request: Request, here: Here) -> Response:
    """Shown before the list is turned on (`without` 0), or before an entry is removed while it is
    on."""
    number = bounded_number("without", without, most=ID_MAX)
    address = client_address(request, here.settings.trusted_proxies)

    def work() -> ApprovingReach:
        return approving_reach(
            here.database, address, number, here.clock.now_us(), here.approved_addresses.own_tokens
        )

    reach = await to_thread.run_sync(work)
    return render(request, "accounts/approving.html", reach=reach, address=address)


def _kept(here: Services, address: str) -> dict[str, Any]:
    """Returns the settings in the database, which the page can change."""
    approved = approved_addresses.entries(here.database)
    covering = [one.id for one in approved if is_in(address, [ip_network(one.network)])]
    with here.database.reading() as connection:
        control = app_control.load(connection)
    license_key = here.settings.license_provider_key
    return {
        "approved": approved,
        "covering": covering,
        "is_approving": approved_addresses.is_enabled(here.database),
        "control": control,
        "license": licenses.status(here.database, license_key, here.clock.now_us()),
    }


def _connected(here: Services) -> dict[str, Any]:
    """Returns destinations of data and messages, and identity providers."""
    streams = forwarders.streams(here.database)
    return {
        "targets": outbox.targets(here.database),
        "forwarders": [
            (one, [stream for stream in streams if stream.forwarder_id == one.id])
            for one in forwarders.all_forwarders(here.database)
        ],
        "providers": identity_providers.all_providers(here.database),
        "hiding": _hiding(here),
    }


def _untried(here: Services, username: str) -> list[str]:
    """Returns message targets that never had a message."""
    had = {one.name for one in outbox.targets(here.database)}
    known = targets_to_try(here.database, here.settings, users.id_of(here.database, username))
    return [one for one in known if one not in had]


def _hiding(here: Services) -> list[tuple[int, str, bool, int]]:
    """Returns groups that hide data as (id, name, whether user names are pseudonyms, number of
    secret patterns)."""
    return [
        (one.id, one.name, one.options.pseudonymise_users, len(one.options.secret_patterns))
        for one in groups.all_groups(here.database)
        if one.options.pseudonymise_users or one.options.secret_patterns
    ]


def _shown(here: Services) -> list[dict[str, Any]]:
    """Returns settings with values, defaults, origins and descriptions. Of secrets only whether
    they are set."""
    return [
        {
            "name": name,
            "value": shown(setting, getattr(here.settings, name)),
            "usual": shown(setting, setting.default),
            "origin": here.origins[name],
            "text": setting.about.text,
        }
        for name, setting in sorted(catalogue().items())
    ]

"""The public client `cbapi`: groups, sites, bans and ingress filters (docs/clients.md#requests)."""

from typing import Any

import pytest

from tests.flow.conftest import ONE_SERVER

# cbapi 2.0 was written for older urllib3, attrdict and Python: what it warns of is its own.
pytestmark = [ONE_SERVER, pytest.mark.filterwarnings("ignore")]


def test_a_group_is_made_found_changed_and_deleted(cb: Any) -> None:
    from cbapi.errors import ObjectNotFoundError
    from cbapi.response import SensorGroup, Site

    group = cb.create(SensorGroup)
    group.name = "cbapi group"
    group.sensorbackend_server = "https://edr.example:443"
    group.site = cb.select(Site, 1)
    group.save()
    assert group.id > 1
    assert group.name == "cbapi group"
    (found,) = [one for one in cb.select(SensorGroup) if one.name == "cbapi group"]
    assert found.site.name == "Default Site"
    found.name = "cbapi group renamed"
    found.banning_enabled = False
    found.save()
    again = cb.select(SensorGroup, group.id)
    assert (again.name, again.banning_enabled) == ("cbapi group renamed", False)
    assert len(again.sensors) == 0
    again.delete()
    with pytest.raises(ObjectNotFoundError):
        cb.select(SensorGroup, group.id, force_init=True)


def test_a_site_is_made_and_renamed(cb: Any) -> None:
    from cbapi.response import Site

    site = cb.create(Site)
    site.name = "cbapi site"
    site.save()
    known = cb.select(Site, site.id)
    known.name = "cbapi site renamed"
    known.save()
    assert "cbapi site renamed" in [one.name for one in cb.select(Site)]


def test_a_program_is_banned_and_let_go(cb: Any) -> None:
    from cbapi.errors import ClientError, ServerError
    from cbapi.response import BannedHash

    md5 = "0123456789abcdef0123456789abcdef"
    ban = cb.create(BannedHash)
    ban.md5hash = md5
    ban.text = "dropped by a mail"
    ban.enabled = True
    ban.save()
    known = cb.select(BannedHash, md5)
    assert (known.enabled, known.text, known.username) == (True, "dropped by a mail", "admin")
    assert md5 in [one.md5hash for one in cb.select(BannedHash)]

    twice = cb.create(BannedHash)
    twice.md5hash, twice.text, twice.enabled = md5, "again", True
    with pytest.raises((ServerError, ClientError)) as caught:
        twice.save()
    assert caught.value.error_code == 409

    known.enabled = False
    known.save()
    assert cb.select(BannedHash, md5).enabled is False
    known = cb.select(BannedHash, md5)
    known.enabled = True
    known.save()
    assert cb.select(BannedHash, md5).enabled is True
    cb.select(BannedHash, md5).delete()
    # The client caches what it selected.
    assert cb.select(BannedHash, md5, force_init=True).enabled is False


def test_an_ingress_filter_is_made_changed_and_deleted(cb: Any) -> None:
    from cbapi.errors import ObjectNotFoundError
    from cbapi.response import IngressFilter

    made = cb.create(IngressFilter)
    made.id = "cbapi-filter"
    made.name = "noise"
    made.description = "of a test"
    made.path_filters = ["*\\no_such_program.exe"]
    made.save()
    assert made.create_timestamp
    known = cb.select(IngressFilter, "cbapi-filter")
    assert (known.name, known.enabled, known.os_mask) == ("noise", True, 7)
    known.enabled = False
    known.save()
    assert cb.select(IngressFilter, "cbapi-filter").enabled is False
    assert "cbapi-filter" in [one.id for one in cb.select(IngressFilter)]
    known.delete()
    with pytest.raises(ObjectNotFoundError):
        cb.select(IngressFilter, "cbapi-filter", force_init=True)

"""Every object that callers store is counted, and what several users can store has a share for
each of them."""

import ast
import importlib
import pkgutil
from pathlib import Path
from typing import Final

import pytest

from vedette.state import db
from vedette.state.db.schema import METADATA
from vedette.state.shares import quota_list
from vedette.state.shares.quota_list import QUOTAS

STATE = Path(__file__).parents[2] / "vedette"
THE_COUNTER = STATE / "state" / "shares" / "quota.py"

UNCOUNTED: Final = {
    "alert_audit": "a row for each change of alerts, whose rate is bounded (`request_rates.py`)",
    "cloud_app_role": "global administrators make them, at most one for each app and role",
    "cloud_role_group": "global administrators make them, at most one for each role and group",
    "enrolment_secret": "the server makes them, one for each group and installer",
    "host_alias": "global administrators make them",
    "host_name_owner": "global administrators make them, at most one for each claimed name",
    "identity_provider_team": "bounded by the body of an identity provider",
    "installer": "global administrators register them, one for each kind of host",
    "isolation": "one for each sensor",
    "report_ignored": "one for each report that feeds have",
    "second_factor": "one for each user",
    "sensor": "`state/sensors/quota.py` counts them, with a share for each group",
    "sensor_group": "global administrators make them",
    "signing_key": "the server makes them, one a month",
    "site": "global administrators make them",
    "switch": "the server has a fixed number",
    "team": "global administrators make them",
    "team_group_access": "global administrators make them, at most one for each team and group",
    "team_member": "global administrators make them, at most one for each team and user",
    "user_account": "global administrators make them, and identity providers that they added",
}
"""Audited tables without a quota, with the reason."""

OF_ADMINISTRATORS: Final = {
    quota_list.FEEDS.what,
    quota_list.SUPPRESSIONS.what,
    quota_list.RESPONSE_POLICIES.what,
    quota_list.INGRESS_FILTERS.what,
    quota_list.SIGMA_RULES.what,
    quota_list.SIGMA_PLACEHOLDERS.what,
    quota_list.YARA_TEXTS.what,
    quota_list.FORWARDERS.what,
    quota_list.CLOUD_ROLES.what,
    quota_list.CLOUD_APPS.what,
    quota_list.IDENTITY_PROVIDERS.what,
    quota_list.APPROVED_ADDRESSES.what,
}
"""Objects that only global administrators make, or a permission in all groups."""

OF_ONE_PLACE: Final = {
    quota_list.CLOUD_JOBS.what,
    quota_list.SAVED_SEARCHES.what,
    quota_list.STREAMS.what,
    quota_list.IDENTITIES.what,
}
"""Quotas that `check_room` is given one user for: each user has a room of their own."""


def test_every_table_that_people_fill_has_a_quota_or_a_reason() -> None:
    for module in pkgutil.iter_modules(db.__path__):
        importlib.import_module(f"{db.__name__}.{module.name}")
    counted = {quota.table.name for quota in QUOTAS}
    audited = {name for name, table in METADATA.tables.items() if "audited" in table.info}
    assert audited - counted - set(UNCOUNTED) == set(), "give it a quota, or say why not"
    assert set(UNCOUNTED) - audited == set(), "is no audited table"


def test_what_several_users_can_store_has_a_share_for_each() -> None:
    without = {quota.what for quota in QUOTAS if quota.share is None}
    assert without == OF_ADMINISTRATORS | OF_ONE_PLACE


def test_a_share_is_a_part_of_the_whole() -> None:
    for quota in QUOTAS:
        if quota.share is not None and quota.most is not None:
            assert 2 * quota.share <= quota.most, quota.what


MODULES = sorted((STATE / "state").rglob("*.py"))


@pytest.mark.parametrize("path", [one for one in MODULES if one != THE_COUNTER], ids=str)
def test_nobody_else_compares_a_count_of_rows_with_a_limit(path: Path) -> None:
    for function in ast.walk(ast.parse(path.read_text())):
        if isinstance(function, ast.FunctionDef) and _counts(function):
            assert not _limits_of(function), f"{function.name}: use state/shares/quota.py"


EXCEPTIONS: Final = {
    "check_rate": "keys that were replaced within an hour, not what is stored",
    "settle": "devices that failed, and how many may",
}


def _counts(function: ast.FunctionDef) -> bool:
    return function.name not in EXCEPTIONS and any(
        isinstance(node, ast.Attribute)
        and node.attr == "count"
        and isinstance(node.value, ast.Name)
        and node.value.id == "func"
        for node in ast.walk(function)
    )


def _limits_of(function: ast.FunctionDef) -> list[str]:
    names = [
        node.id if isinstance(node, ast.Name) else node.attr
        for compared in ast.walk(function)
        if isinstance(compared, ast.Compare)
        for node in ast.walk(compared)
        if isinstance(node, ast.Name | ast.Attribute)
    ]
    return [name for name in names if name.endswith("_MAX")]

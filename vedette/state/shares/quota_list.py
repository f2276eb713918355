"""Every limit on stored objects, as a `Quota` (`quota.py`).

Objects that analysts create have a share per user. Objects that only global administrators create
have only a server-wide limit. Objects that belong to one place (a user, a group, an alert) have a
limit per place: `check_room` gets the condition that selects it.
"""

from typing import Final

from vedette import limits
from vedette.errors import BadRequestError
from vedette.limits import Limit
from vedette.state.db.schema import APPROVED_ADDRESS, BAN, INGRESS_FILTER, STREAM, TOKEN
from vedette.state.db.schema_actions import ACTION, RESPONSE_POLICY
from vedette.state.db.schema_alerts import SUPPRESSION
from vedette.state.db.schema_cloud import CLOUD_APP, CLOUD_ROLE
from vedette.state.db.schema_cloud_jobs import ALERT_NOTE, CLOUD_JOB
from vedette.state.db.schema_console import IDENTITY, IDENTITY_PROVIDER, SAVED_SEARCH
from vedette.state.db.schema_feeds import FEED
from vedette.state.db.schema_fleet import BINARY_ORDER, LIVE_QUERY, YARA_RULE
from vedette.state.db.schema_forwarder import FORWARDER
from vedette.state.db.schema_rules import SIGMA_PLACEHOLDER, SIGMA_RULE
from vedette.state.db.schema_updates import UPDATE_JOB
from vedette.state.db.schema_watchlists import WATCHLIST
from vedette.state.shares.quota import Quota

SUPPRESSIONS_MAX: Limit[int] = 500
"""Suppression rules; each new alert is compared with all rules in force."""

BINARY_ORDERS_OPEN_MAX: Limit[int] = 2_000
"""Open orders of a group; its sensors need days to send as many files."""

BINARY_ORDERS_OF_USER_MAX: Limit[int] = 500
"""Open orders of one user in one group, except global administrators."""

YARA_TEXTS_MAX: Limit[int] = 500
"""Texts of YARA rules that users may add; each is a file of rules."""

CLOUD_ROLES_MAX: Limit[int] = 500
"""Roles of the cloud side, more than anyone can keep track of."""

CLOUD_APPS_MAX: Limit[int] = 1_000
"""Apps and keys of the cloud side."""

ALERT_NOTES_MAX: Limit[int] = 500
"""Notes on one alert."""

ALERT_NOTES_OF_USER_MAX: Limit[int] = 100
"""Notes of one author on one alert, except global administrators."""

CLOUD_JOBS_WAITING_OF_OWNER_MAX: Limit[int] = 50
"""Waiting jobs of one caller; jobs of all callers run in sequence."""

UPDATE_JOBS_RUNNING_MAX: Limit[int] = 200
"""Running sensor-update jobs; a check-in looks up its device in all of them."""

UPDATE_JOBS_OF_USER_MAX: Limit[int] = 50
"""Running sensor-update jobs of one caller, except global administrators."""

SIGMA_PLACEHOLDERS_MAX: Limit[int] = 200
"""Placeholders with values; public rules use about 20."""

FEEDS_MAX: Limit[int] = 1_000
"""Feeds of a server; a single thread fetches them in sequence."""

FORWARDERS_MAX: Limit[int] = 50
"""Forwarders of a server; each reads all its records separately."""

SAVED_SEARCHES_OF_USER_MAX: Limit[int] = 500
"""Saved searches of one user; nobody reads a longer list."""

ACTIONS_OF_A_SOURCE_MAX: Limit[int] = 200
"""Stored actions of one rule, feed or watchlist: a mail action per user, and some webhooks."""

ACTIONS_OF_A_SOURCE_SHARE: Limit[int] = 20
"""Stored actions of one source by one user, except global administrators."""

RESPONSE_POLICIES_MAX: Limit[int] = 100
"""Policies of automatic responses."""

IDENTITY_PROVIDERS_MAX: Limit[int] = 20
"""Identity providers of a server; each has a button on the sign-in page."""

IDENTITIES_PER_USER_MAX: Limit[int] = 20
"""Identities linked to one user."""

INGRESS_FILTERS_MAX: Limit[int] = 10_000
"""Ingress filters of a server."""

BANS_MAX: Limit[int] = 100_000
"""Bans in force; each sensor stores all of them, about 20 MB."""

BANS_OF_USER_MAX: Limit[int] = 20_000
"""Bans in force of one user, except global administrators."""

STREAMS_PER_USER_MAX: Limit[int] = 1_000
"""Live streams of one user; each is a row of a few hundred bytes."""

LIVE_QUERIES_OPEN_MAX: Limit[int] = 10_000
"""Unexpired live queries."""

LIVE_QUERIES_OF_USER_MAX: Limit[int] = 500
"""Unexpired live queries of one user, except global administrators."""

API_TOKENS_OF_USER_MAX: Limit[int] = 100
"""Valid tokens of one user, except global administrators: one per script."""

WATCHLISTS_MAX: Limit[int] = 10_000
"""Watchlists of a server."""

WATCHLISTS_OF_USER_MAX: Limit[int] = 1_000
"""Watchlists of one user, except global administrators; ten users fill the server."""


WATCHLISTS: Final = Quota(
    "watchlists",
    WATCHLIST,
    most=WATCHLISTS_MAX,
    share=WATCHLISTS_OF_USER_MAX,
    owner=WATCHLIST.c.user_id,
)
BANS: Final = Quota(
    "bans in force",
    BAN,
    most=BANS_MAX,
    share=BANS_OF_USER_MAX,
    owner=BAN.c.user_id,
    counted=BAN.c.enabled,
)
ACTIONS: Final = Quota(
    "actions of one source",
    ACTION,
    most=ACTIONS_OF_A_SOURCE_MAX,
    share=ACTIONS_OF_A_SOURCE_SHARE,
    owner=ACTION.c.author,
)
ALERT_NOTES: Final = Quota(
    "notes on one alert",
    ALERT_NOTE,
    most=ALERT_NOTES_MAX,
    share=ALERT_NOTES_OF_USER_MAX,
    owner=ALERT_NOTE.c.author,
    error=BadRequestError,
)
LIVE_QUERIES: Final = Quota(
    "live queries that wait for answers",
    LIVE_QUERY,
    most=LIVE_QUERIES_OPEN_MAX,
    share=LIVE_QUERIES_OF_USER_MAX,
    owner=LIVE_QUERY.c.username,
)
BINARY_ORDERS: Final = Quota(
    "open orders for files in one group",
    BINARY_ORDER,
    most=BINARY_ORDERS_OPEN_MAX,
    share=BINARY_ORDERS_OF_USER_MAX,
    owner=BINARY_ORDER.c.username,
    reason="too_many_orders",
)
UPDATE_JOBS: Final = Quota(
    "sensor-update jobs that run",
    UPDATE_JOB,
    most=UPDATE_JOBS_RUNNING_MAX,
    share=UPDATE_JOBS_OF_USER_MAX,
    owner=UPDATE_JOB.c.login_name,
    counted=UPDATE_JOB.c.status == "IN_PROGRESS",
)
CLOUD_JOBS: Final = Quota(
    "jobs of one caller that wait",
    CLOUD_JOB,
    most=CLOUD_JOBS_WAITING_OF_OWNER_MAX,
    counted=CLOUD_JOB.c.status == "CREATED",
)
API_TOKENS: Final = Quota(
    "tokens that are good",
    TOKEN,
    share=API_TOKENS_OF_USER_MAX,
    owner=TOKEN.c.user_id,
    counted=(TOKEN.c.kind == "api") & (TOKEN.c.revoked_us == 0),
)
SAVED_SEARCHES: Final = Quota(
    "saved searches of one user",
    SAVED_SEARCH,
    most=SAVED_SEARCHES_OF_USER_MAX,
    error=BadRequestError,
)
STREAMS: Final = Quota("streams of one user", STREAM, most=STREAMS_PER_USER_MAX)
IDENTITIES: Final = Quota("identities of one user", IDENTITY, most=IDENTITIES_PER_USER_MAX)

FEEDS: Final = Quota("feeds", FEED, most=FEEDS_MAX)
SUPPRESSIONS: Final = Quota("suppressions", SUPPRESSION, most=SUPPRESSIONS_MAX)
RESPONSE_POLICIES: Final = Quota("response policies", RESPONSE_POLICY, most=RESPONSE_POLICIES_MAX)
INGRESS_FILTERS: Final = Quota("ingress filters", INGRESS_FILTER, most=INGRESS_FILTERS_MAX)
SIGMA_RULES: Final = Quota(
    "Sigma rules",
    SIGMA_RULE,
    most=limits.SIGMA_RULES_MAX,
    counted=SIGMA_RULE.c.deleted_us == 0,
)
SIGMA_PLACEHOLDERS: Final = Quota("placeholders", SIGMA_PLACEHOLDER, most=SIGMA_PLACEHOLDERS_MAX)
YARA_TEXTS: Final = Quota("texts of YARA rules", YARA_RULE, most=YARA_TEXTS_MAX)
FORWARDERS: Final = Quota("forwarders", FORWARDER, most=FORWARDERS_MAX)
CLOUD_ROLES: Final = Quota("roles", CLOUD_ROLE, most=CLOUD_ROLES_MAX, error=BadRequestError)
CLOUD_APPS: Final = Quota("apps", CLOUD_APP, most=CLOUD_APPS_MAX, error=BadRequestError)
IDENTITY_PROVIDERS: Final = Quota(
    "identity providers", IDENTITY_PROVIDER, most=IDENTITY_PROVIDERS_MAX
)
APPROVED_ADDRESSES: Final = Quota(
    "approved addresses", APPROVED_ADDRESS, most=limits.APPROVED_ADDRESSES_MAX
)

QUOTAS: Final = (
    WATCHLISTS,
    BANS,
    ACTIONS,
    ALERT_NOTES,
    LIVE_QUERIES,
    BINARY_ORDERS,
    UPDATE_JOBS,
    CLOUD_JOBS,
    API_TOKENS,
    SAVED_SEARCHES,
    STREAMS,
    IDENTITIES,
    FEEDS,
    SUPPRESSIONS,
    RESPONSE_POLICIES,
    INGRESS_FILTERS,
    SIGMA_RULES,
    SIGMA_PLACEHOLDERS,
    YARA_TEXTS,
    FORWARDERS,
    CLOUD_ROLES,
    CLOUD_APPS,
    IDENTITY_PROVIDERS,
    APPROVED_ADDRESSES,
)

"""The cloud side: tokens, guessing, alert search v7, devices, sensor-update jobs, forwarders."""

ACCESS_TOKEN_TTL_S = 30 * 60
"""Seconds for which an access token is good unless its app says otherwise (the API's default)."""

ACCESS_TOKEN_TTL_S_MIN = 60
"""Least seconds for an app to choose: clients refetch on 401, not ahead of time."""

ACCESS_TOKEN_TTL_S_MAX = 24 * 3600
"""Most seconds for an app to choose: a token in a log file ends within a day."""

ACCESS_TOKENS_CACHED_MAX = 10_000
"""Access tokens whose signature was checked and is cached until they end."""

ACCESS_TOKEN_CHARS_MAX = 4_096
"""Characters of a token that is looked at; ours have about 500."""

SIGNING_KEY_AGE_S = 30 * 24 * 3600
"""Seconds for which a key signs; then the next is made."""

SIGNING_KEY_STALE_US = 1_000_000
"""For how long the list of signing keys is believed unread; an unknown key id reads at once."""

APP_GUESSES_OF_ADDRESS_MAX = 20
"""Wrong secrets of one app from one address in `SIGN_IN_WINDOW_S`; programs do not mistype."""

APP_GUESSES_MAX = 100
"""Wrong secrets for one app from all addresses in that time, and from one address for all apps.
Above the other, so that nobody locks an app out from a single address, or its neighbours."""

CLOUD_ROLES_MAX = 500
"""Roles of the cloud side; nobody keeps more apart."""

CLOUD_APPS_MAX = 1_000
"""Apps and keys of the cloud side."""

ALERT_V7_ROWS_MAX = 10_000
"""Alerts of one answer of alert search v7 (the API's limit)."""

ALERT_V7_ROWS_DEFAULT = 100
"""Alerts of one answer where the request does not say: what the clients' pages have."""

ALERT_V7_RANGE_S = 14 * 24 * 3600
"""Seconds that a search without a `time_range` looks back (the API's two weeks)."""

ALERT_V7_VALUES_MAX = 10_000
"""Values of one criterion; clients list the ids of a page."""

ALERT_V7_CRITERIA_MAX = 100
"""Criteria and exclusions of one request; there are about 50 fields."""

ALERT_V7_SORTS_MAX = 10
"""Fields to sort by in one request."""

ALERT_V7_FACETS_MAX = 50
"""Facets of one request."""

ALERT_V7_FACET_VALUES_MAX = 1_000
"""Values of one facet."""

ALERT_SETTLED_US = 15 * 60 * 1_000_000
"""How long after it was made detection may still change what v7 shows of an alert (the API's 15
minutes)."""

CREATION_LOOKBACK_US = 3600 * 1_000_000
"""How far back the newest creation time of an alert is looked for: creation times run ahead of the
clock by a millisecond for each alert of a batch, never by an hour."""

ALERT_NOTE_CHARS_MAX = 10_000
"""Characters of a note on an alert."""

ALERT_NOTES_MAX = 500
"""Notes on one alert."""

WORKFLOW_ALERTS_MAX = 100_000
"""Alerts that one workflow job changes."""

CLOUD_JOBS_PER_OWNER_MAX = 1_000
"""Jobs of one caller that are kept, the newest."""

STATE_ROWS_PER_STATEMENT = 500
"""Rows that one statement to the state database names; SQLite takes 999 values at least."""

DEVICE_ROWS_MAX = 10_000
"""Devices of one answer, and of one sensor-update job (the API's limit)."""

DEVICE_ROWS_DEFAULT = 100
"""Devices of one answer where the request does not say."""

DEVICE_QUERY_CHARS_MAX = 1_000
"""Characters of a plain text query over devices."""

DEVICE_INACTIVE_US = 30 * 24 * 3600 * 1_000_000
"""A device that has sent nothing for so long is INACTIVE."""

UPDATE_JOBS_MAX = 1_000
"""Sensor-update jobs that are kept; the oldest that are done are forgotten."""

UPDATE_REASON_CHARS_MAX = 300
"""Characters of the reason that a sensor gives for refusing an update."""

THREAT_IDS_CACHED_MAX = 10_000
"""Ids of rules, feeds and watchlists that are kept in the form of records: a hash of each."""

FORM_FIELDS_MAX = 20
"""Fields of a form that asks for an access token; it has three."""

ALERT_EXPORT_SPAN_DAYS = 30
"""Days of one search of `vedette alerts export`: longer exports run by month, as the API asks."""

ALERT_EXPORT_LAG_S = 60
"""Seconds by which an export stays behind the clock: younger alerts may not all be visible."""

ALERT_EXPORT_REQUEST_S = 300.0
"""Timeout of a request of an export: a full page of a busy server takes seconds."""

ALERT_EXPORT_CONNECT_S = 10.0
"""Timeout of a connection of an export: a balancer has another server then."""

ALERT_EXPORT_FOLLOW_S = 10.0
"""Seconds between two looks of `vedette alerts export --follow`."""

ALERT_EXPORT_REFUSED_S = 600.0
"""Seconds for which an export asks a busy server again (429, 503)."""

ALERT_EXPORT_PAUSE_S = 1.0
"""Seconds before an export asks again, at least."""

ALERT_EXPORT_PAUSE_MAX_S = 60.0
"""Seconds that an export waits when a server asks it to, at most."""

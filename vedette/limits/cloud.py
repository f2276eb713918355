"""The cloud side: tokens, alert search v7, devices and sensor-update jobs."""

ACCESS_TOKEN_TTL_S = 30 * 60
"""Lifetime of an access token unless its app sets another (the API's default)."""

ACCESS_TOKEN_TTL_S_MAX = 24 * 3600
"""Longest lifetime of an access token (seconds) that an app may set: a token leaked to a log file
expires within a day."""

ALERT_V7_ROWS_MAX = 10_000
"""Maximum alerts in a response of alert search v7 (the API's limit)."""

ALERT_V7_VALUES_MAX = 10_000
"""Maximum values of a criterion. Clients list the ids of a page."""

ALERT_V7_SORTS_MAX = 10
"""Maximum sort fields in a request."""

DEVICE_ROWS_MAX = 10_000
"""Maximum devices in a response, and in a sensor-update job (the API's limit)."""

"""Kept views and look-ups of the console: sizes."""

SAVED_SEARCH_CHARS_MAX = 64 * 1024
"""Maximum characters of the query string of a kept view. Queries converted from rules reach 45
kB."""

LOOKUP_HOSTS_SHOWN = 20
"""Maximum hosts that a look-up lists. It counts all."""

PULSE_CHANGES_SHOWN = 20
"""Maximum sensors with a changing isolation state in a pulse."""

BAN_LIST_MAX = 200
"""Maximum programs that one request bans or examines; each costs reads of the telemetry."""

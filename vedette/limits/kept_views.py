"""What people keep of the console, and what one look-up may cost."""

PREFERENCES_CHARS_MAX = 16 * 1024
"""Characters of a user's preferences as JSON: columns of a dozen lists are 4 kB."""

SAVED_SEARCHES_OF_USER_MAX = 500
"""Searches that one user saves; nobody reads a longer list."""

SAVED_SEARCH_CHARS_MAX = 64 * 1024
"""Characters of the query string of a kept view: queries made of rules reach 45 kB."""

SAVED_SEARCH_NAME_CHARS_MAX = 200
"""Characters of the name of a search."""

PERMALINKS_OF_USER_MAX = 200
"""Links that one user has; the oldest go."""

ISOLATION_REASON_CHARS_MAX = 1_000
"""Characters of the reason of an isolation."""

SCREEN_NAME_CHARS_MAX = 59
"""Characters of the name of a screen whose view is kept."""

ISOLATIONS_ENDED_MAX = 500
"""Hosts that one round releases because their time has come; the next round follows."""

LOOKUP_CHARS_MAX = 1_024
"""Characters of a value that is looked up: the longest path that is of use."""

LOOKUP_HOSTS_SHOWN = 20
"""Hosts that a look-up lists; it counts all."""

PULSE_CHANGES_SHOWN = 20
"""Sensors with an isolation that changes, in one pulse."""

BAN_LIST_MAX = 200
"""Programs that one request bans or examines; each costs reads of the telemetry."""

SUGGESTIONS_MAX = 12
"""Suggestions that complete a query; a list that is longer is not read."""

PERMALINK_ID_BYTES = 12
"""Random bytes of a link's id: nobody guesses one, and it fits into a line."""

CSP_REPORT_BYTES_MAX = 4 * 1024
"""Bytes of a browser's report that a page's policy refused something."""

CSP_REPORTS_OF_ADDRESS_MAX = 30
"""Such reports of one address in a minute: a page with many violations sends some of them."""

CSP_REPORTS_MAX = 300
"""Such reports of all addresses in a minute: anybody can send them, and all are logged."""

CSP_VIOLATIONS_OF_REPORT_MAX = 10
"""Violations of one report that are logged."""

CSP_REPORT_VALUE_CHARS_MAX = 200
"""Characters of each value that is logged of a report."""

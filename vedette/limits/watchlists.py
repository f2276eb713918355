"""Watchlists: ids, batches and errors."""

WATCHLIST_ID_MAX = (1 << 31) - 1
"""Highest id of a watchlist: the maximum of routes and id columns."""

WATCHLIST_DOCUMENTS_A_BATCH = 10_000
"""Documents in memory at a time: about 200 MB with all their events."""

WATCHLIST_ERROR_CHARS_MAX = 500
"""Maximum characters of the stored error of a watchlist."""

WATCHLIST_GLANCE_S = 2
"""Time that a list of watchlists waits for data from the store."""

BLINDED_SAMPLES_MAX = 2_000
"""Maximum tagged documents that the dry run of a filter examines, the newest ones."""

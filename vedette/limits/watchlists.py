"""Limits of watchlists."""

WATCHLISTS_MAX = 10_000
"""Watchlists of a server."""

WATCHLIST_NAME_CHARS_MAX = 256
"""Characters of a name: it stands in every list and in every alert."""

WATCHLIST_DESCRIPTION_CHARS_MAX = 16_384
"""Characters of a description, which alerts of the watchlist carry."""
"""Characters of a name, which stands in every alert."""

WATCHLIST_DESCRIPTION_CHARS_MAX = 16_384
"""Characters of a description, which stands in every alert."""

WATCHLIST_QUERY_CHARS_MAX = 262_144
"""Characters of a stored query; a converted Sigma rule has up to 100,000."""

WATCHLIST_PAST_S = 7 * 24 * 3600
"""The stored past that a new or edited watchlist is executed over, seconds before it was saved:
what an analyst still works on. A query over more is a search."""

WATCHLIST_PAST_WINDOWS_S = 6 * 3600
"""Seconds of the stored past that one step of it judges."""

WATCHLIST_PAST_ROUND_S = 2
"""Seconds of a round in which steps of the stored past begin: new telemetry does not wait for it,
and steps that find nothing cost little."""

WATCHLIST_ROUND_S = 5.0
"""Seconds between rounds: how long a hit may be unknown, plus the time of a round."""

WATCHLIST_ROWS_A_ROUND = 50_000
"""Partial rows of the commits that are judged at once, about: what is saved together."""

WATCHLIST_ROUND_GROUPS = 20
"""Groups of commits in one round."""

WATCHLIST_DOCUMENTS_A_BATCH = 10_000
"""Documents in memory at once: about 200 MB with all of their events."""

WATCHLIST_COST_S_AN_HOUR = 180
"""Seconds of judging that one watchlist may take in an hour: a thousand ordinary ones take less
than ten together. One that takes more is stopped."""

WATCHLIST_ERROR_CHARS_MAX = 500
"""Characters that are kept of why a watchlist failed."""

WATCHLIST_COST_S_A_BATCH = 10
"""Seconds that one watchlist may take for one batch: above it is stopped at once."""

WATCHLIST_CLOCK_EVERY = 256
"""Documents between two looks at the clock."""

WATCHLIST_HITS_A_GROUP = 1_000
"""Hits of one watchlist in one group of commits that are reported one by one; the rest are tagged
and counted, and one detection of the server says how many they are."""

WATCHLIST_PREVIEW_DAYS = 7
"""Days that a preview looks back by default."""

WATCHLIST_PREVIEW_SAMPLES = 20
"""Hits that a preview shows."""

WATCHLIST_PREVIEW_VALUES = 5
"""Values that a preview offers to exclude."""

WATCHLIST_FIELDS_ASKED = 60
"""Fields of all watchlists of a list that the store is asked for: each is a read, of a whole column
where nothing has it."""

WATCHLIST_GLANCE_S = 2
"""Seconds that a list of watchlists waits for what the store says of them."""

WATCHLIST_PREVIEW_HOSTS = 100
"""Hosts that a preview names, those with the most hits."""

WATCHLIST_SIGHTINGS_KNOWN = 100_000
"""Pairs of a binary and a sensor that a watchlist reported, kept so that each is reported once."""

WATCHLIST_TAG_LAG_S = 5
"""Seconds by which tags of feeds are followed late: rows of a slower insert may still appear."""

BLINDED_SAMPLES_MAX = 2_000
"""Documents with tags that a filter's dry run asks for; of more the newest."""

WATCHLIST_PAST_STEP_S = 20.0
"""Seconds for one search of the stored past; the next one is of fewer windows."""

WATCHLIST_PAST_HITS_MAX = 20_000
"""Hits of one step of the stored past that are tagged: a watchlist with more matches too much to
be read."""

WATCHLIST_JUDGES_KEPT = 32
"""Compiled sets of watchlists: one for each kind of document and group."""

WATCHLIST_VALUES_CHARS = 4_000_000
"""Characters of the values of one column whose watchlists are cached: the paths and names of a
fleet, but not all of its command lines."""

WATCHLIST_MATCHED_MAX = 20
"""Values that a detection shows as what made it a hit."""

WATCHLIST_VALUE_CHARS_MAX = 1_000
"""Characters of each value that a detection shows; the rest is in the telemetry."""

WATCHLIST_PREVIEW_STEP_S = 3600
"""Seconds of the first step of a preview; each is twice as long as the one before, so that a
preview that runs out of time has the newest hits."""

WATCHLIST_DEAD_US = 90 * 24 * 3600 * 1_000_000
"""Time without a hit after which the list of watchlists says so: a quarter, within which whatever
comes at all regularly has come."""

"""Telemetry store: connections, query plans, parts, upgrades."""

STORE_READERS = 12
"""Clients of the engine that read at the same time, a few MB each. Three are reserved for
ingest."""

STORE_WRITERS = 4
"""Clients that write at the same time: as many as a commit has tables."""

STORE_CONTROL_CLIENTS = 2
"""Connections for health checks and killing queries, which work while all readers are busy."""

DISK_FREE_BYTES_MIN = 16 * 1024 * 1024
"""Minimum free space. Below it `/readyz` reports a full disk, because a usual commit no longer
fits."""

STORE_PARTS_MERGED = 8
"""Parts of similar size per merge: 25% fewer merges of each row than with the engine's default of
five, and still few parts per search."""

PREFILTER_PLACES_MAX = 5_000
"""Maximum segments, or windows of processes, whose keys are bound as values."""

RECOVERY_PROCESSES_PER_QUERY = 2_000
"""Maximum ids bound to a query. Above 10,000 the time to bind them grows with their square."""

SEGMENT_FACET_VALUES_MAX = 200
"""Maximum values per facet, the most frequent ones."""

FACET_START_DAYS = 30
"""Days covered by the facet `start`, including today."""

MIGRATION_UNIT_ROWS = 20_000
"""Rows of an embedded store that move to a cluster as a block: some 30 MB of segments. A killed run
repeats its last block."""

"""Limits of backups."""

BACKUP_PIECE_BYTES = 1 << 20
"""Bytes of a file in memory at once, and of an encrypted piece: stored backups are cut so."""

SNAPSHOTS_MAX = 4
"""Snapshots of a data directory at once: each keeps files that are merged or deleted meanwhile."""

SNAPSHOT_KEPT_S = 24 * 3600
"""How long a snapshot is kept that nobody removes: whoever took it was killed."""

BACKUP_DEADLINE_S = 600
"""Seconds for one request of a backup: a snapshot of millions of files takes minutes."""

"""Backups: size of pieces."""

BACKUP_PIECE_BYTES = 1 << 20
"""Bytes of a file in memory at a time, and of an encrypted piece. Stored backups are divided into
pieces of this size."""

"""Blobs: pieces of files that are read, written and sent to an object store."""

BLOB_PIECE_BYTES = 1024 * 1024
"""Bytes of a file that are in memory at a time while it is read, written or hashed."""

BLOB_RANGE_BYTES = 8 * 1024 * 1024
"""Bytes of one request to an object store: each has a deadline of its own, so that a file of 500 MB
is no longer request than one of 8 MB."""

BLOB_IN_MEMORY_BYTES = 1024 * 1024
"""Bytes of a blob that are verified in memory; a larger one is in a temporary file meanwhile."""

BLOB_CONNECT_S = 5
"""How long a connection to an object store may take."""

BLOB_RETRIES_MAX = 3
"""Attempts after the first one that an object store refuses with 5xx or a broken connection."""

BLOB_DRAFT_STALE_S = 24 * 3600
"""When a file that was being written is taken for one that a killed process left behind."""

BLOBS_MOVE_PAUSE_S = 300
"""How long moving pauses after a store refused: its deadline is too long to try every round."""

BLOBS_MOVED_A_ROUND = 64
"""Files of older places that one round of the background job moves: other jobs wait for it."""

BLOBS_MOVED_BYTES_A_ROUND = 64 * 1024 * 1024
"""Bytes after which a round of moving ends; a disk writes them in about a second."""

BLOB_CREDENTIALS_BYTES_MAX = 64 * 1024
"""Bytes of a file with credentials; real ones have 200."""

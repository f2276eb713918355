"""Blobs: sizes of pieces that are read, written and sent to an object store."""

BLOB_PIECE_BYTES = 1024 * 1024
"""Bytes of a file in memory at a time while it is read, written or hashed."""

PATH_SHOWN_CHARS = 120
"""Maximum characters of a rejected path in an error. The path comes from a backup or a client."""

"""Import: reading files of records, and sending them to a server or a store."""

IMPORT_CHUNK_RECORDS = 20_000
"""Maximum records in a request of the importer. Large, because each request waits for a commit. The
recorded identity of a file's parts depends on it, so do not change it lightly."""

IMPORT_CHUNK_BYTES = 12 * 1024 * 1024
"""Maximum bytes in a request of the importer. Three requests share a commit of a server."""

IMPORT_ERRORS_MAX = 1_000
"""Maximum rejected records that the importer lists. All are counted."""

DAMAGE_CHARS_MAX = 200
"""Maximum characters of the reason why a file is damaged. The reason may quote the file."""

IMPORT_IN_FLIGHT = 12
"""Maximum parts of files on their way to the store: those of a commit being written and of a commit
being prepared; with a server, also those in transit."""

IMPORT_ATTEMPTS_MAX = 60
"""Maximum attempts for a chunk before an import fails: some minutes, longer than a restart of the
server."""

OFFLINE_IMPORT_RETRY_S = 1.0
"""Pause before failed chunks of an import without a server are submitted again: the time that the
queue needs to recover."""

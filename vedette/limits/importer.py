"""Import: reading files of records, and sending them to a server or a store."""

IMPORT_BLOCK_BYTES = 512 * 1024
"""How much of a file the importer reads at a time: what the cache of a core holds while it is
decoded, and less than a record may have."""

IMPORT_PART_BYTES = 16 * 1024 * 1024
"""A text of twice that and more is read in parts of about that, by several processes."""

IMPORT_SHARED_BYTES_MIN = 64 * 1024 * 1024
"""Less than that is read before a process that reads has started."""

IMPORT_SORT_BYTES_MAX = 256 * 1024 * 1024
"""Records that the importer sorts in memory; beyond it sorted runs wait in a temporary file."""

IMPORT_CHUNK_RECORDS = 20_000
"""Records of one request of the importer: large, because each waits for a commit. Part of what
makes a file's parts known again, so do not change it lightly."""

IMPORT_CHUNK_BYTES = 12 * 1024 * 1024
"""Bytes of one request of the importer; three of them share a commit of a server."""

IMPORT_COMMIT_BYTES = 6 * IMPORT_CHUNK_BYTES
"""Bytes of one commit of an import without a server: nobody waits for it but the import itself."""

IMPORT_AHEAD_BYTES = 4 * IMPORT_CHUNK_BYTES
"""How far the importer looks ahead for records that explain others: enough for the logs of an
incident, few enough for the processes in it to be kept (HOST_PROCESSES_MAX)."""

IMPORT_ERRORS_MAX = 1_000
"""Rejected records that the importer lists one by one; all are counted."""

DAMAGE_CHARS_MAX = 200
"""Characters of why a file cannot be read further: a reader may quote what it read."""

IMPORT_HOSTS_MAX = 10_000
"""Hosts that the summary of an import lists."""

IMPORT_DECODED_FIRST = 1_000
"""Records without a common envelope that an import decodes for its summary of hosts and times,
before it takes samples only: decoding all would double its work."""

IMPORT_DECODED_EVERY = 50
"""After those, one record in so many is decoded."""

IMPORT_IN_FLIGHT = 12
"""Parts of files on their way to the store at once: those of a commit that is written, and of one
that is prepared; for a server, those that travel too."""

IMPORT_TURN_S = 10.0
"""How long a part of a sequence waits for the one before it: longer than a request takes to
arrive, shorter than a sender's timeout."""

IMPORT_SEQUENCES_MAX = 256
"""Sequences of imports whose order the server remembers."""

ARCHIVE_DEPTH_MAX = 3
"""Archives within archives: a zip of tar.gz of EVTX has depth 2 (tar and gz count as one)."""

ARCHIVE_MEMBERS_MAX = 100_000
"""Files in one archive: triage collections have a few thousand."""

ARCHIVE_RATIO_MAX = 200
"""How many times its size an archive may inflate to: logs reach 100, bombs 1,000 and more."""

ARCHIVE_INFLATED_BYTES_MIN = 256 * 1024 * 1024
"""What any archive may inflate to whatever its ratio: empty logs compress without end."""

MEMBER_MEMORY_BYTES_MAX = 1024 * 1024 * 1024
"""Bytes of a member that has to be in memory whole: an EVTX log or a zip within an archive."""

IMPORT_READERS_MAX = 4
"""Reader processes of an import, one for each core up to this. Reading was 3 of 17 seconds of an
import with one (ADR 8): four read as much faster as the rest of the import could ever use."""

IMPORT_READER_END_S = 10
"""How long reader processes may take to end after their channel was closed; then they are
killed."""

IMPORT_ATTEMPTS_MAX = 60
"""Attempts for one chunk before an import fails: some minutes, which outlast a restart of the
server."""

IMPORT_RETRY_MAX_S = 10.0
"""Longest pause before the next attempt for a chunk, whatever Retry-After says: the import goes on
soon after the server does."""

IMPORT_ANSWER_SHOWN_CHARS = 200
"""Characters of an answer that is no JSON in the error: a proxy sends pages."""

IMPORT_REQUEST_TIMEOUT_S = 300.0
"""Timeout of a request of the importer. A commit takes under a second, longer while the store
merges."""

OFFLINE_IMPORT_RETRY_S = 1.0
"""Pause before failed chunks of an import without a server are submitted again: what the queue
needs to recover."""

OFFLINE_IMPORT_PARTS_MERGED = 24
"""Parts of one size that are merged together. Larger than in a server, since nothing searches
meanwhile: each row is merged fewer times."""

IMPORT_SORT_ITEM_BYTES = 64
"""Memory of a sorted item in addition to its content, bytes: the object and its reference."""

IMPORT_SORT_READ_BYTES = 256 * 1024
"""Bytes read at a time of each sorted run while runs are merged: long reads, and little memory with
many runs."""

IMPORT_RANGES_PER_READER = 2
"""Ranges per reader process: the one it reads, and the next, so that it never waits for work."""

IMPORT_RANGE_EDGE_BYTES = 1024 * 1024
"""Bytes searched for the end of an object; the file is not split further if there is none."""

HEADER_RECORD_ID_BYTES = 1_024
"""Bytes of a record that are searched for its number. The number only orders records with the same
time, so missing one is harmless."""

HEADER_RECORD_ID_CHARS_MAX = 16
"""Characters searched for the end of a record's number: those of 48 bits have 15 digits."""

EVTX_HASH_READ_BYTES = 1024 * 1024
"""Bytes per read while an EVTX file is hashed before it is parsed; longer reads are not faster."""

EVTX_SCAN_BATCH = 1_000
"""Records of an EVTX log that are counted at a time."""

EVTX_ERRORS_MAX = 70_000
"""Errors after which reading an EVTX file stops: a file has at most 65,535 chunks."""

IMPORT_CLOCK_SAMPLE_RECORDS = 16
"""About one in so many records with both times is decoded to compare their clocks. Chosen by its
time, so that the order in the file does not matter."""

FILE_HEAD_BYTES = 4_096
"""Bytes of a file that decide its type: a tar has its mark at byte 257."""

FILE_HEAD_LINES = 20
"""Lines at the beginning of a text, of which one must look like a log's."""

IMPORT_BUFFER_BYTES = 1024 * 1024
"""Read buffer of a file or a member of an archive, bytes; reads below it do not reach the file
system."""

GZIP_READ_BYTES = 128 * 1024
"""Compressed bytes per read of a gzip stream: what they inflate to stays a few MB."""

MEMBER_READ_BYTES = 8 * 1024 * 1024
"""Bytes per read of a member that is read whole; a buffer for the largest member would cost
more."""

DIGEST_INLINE_BYTES = 64 * 1024
"""Smaller blocks are hashed by the caller: handing them to the hashing thread would cost more."""

DIGEST_BLOCK_BYTES = 1024 * 1024
"""Bytes per read while a file is hashed."""

DIGEST_BLOCKS_QUEUED_MAX = 8
"""Blocks of a file that may wait for the hashing thread; bounds memory."""

TEXT_SPOOL_OPEN_FILES_MAX = 64
"""Files that are open at once for texts of records: a directory may have more files than a process
may open."""

TEXT_SPOOL_BUFFER_BYTES = 1024 * 1024
"""Write buffer of a spool, bytes: texts are appended one by one."""

TEXT_SPOOL_BLOCK_BYTES = 64 * 1024
"""Bytes per read of texts: some dozens of records, which are needed together."""

TEXT_SPOOL_BLOCKS_CACHED_MAX = 128
"""Blocks in the LRU cache of texts: they are read nearly in file order, or in one stream per
host."""

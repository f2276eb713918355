"""Binaries: what reading the bytes of a program may cost."""

FILE_READ_S = 20
"""Seconds that one file may take to be read; 25 MiB with a signature take under one."""

FILE_READER_START_S = 30
"""Seconds until a reading process is ready: it imports its libraries, on a busy machine."""

FILE_READER_MEMORY_BYTES = 1024 * 1024 * 1024
"""Address space of a reading process: its libraries map 300 MB, a file of 25 MiB is held three
times."""

FILE_READER_FILES_MAX = 2_000
"""Files after which a reading process is replaced, so that what a library leaks has an end."""

FILE_TEXT_CHARS_MAX = 512
"""Characters of one text that is read from a file; real version resources have under 200."""

FILE_SECTIONS_MAX = 64
"""Sections whose entropy is kept; real programs have under 30."""

FILE_PROBLEMS_MAX = 8
"""Reasons kept of what could not be read of one file."""

ICON_PIXELS_MAX = 512 * 512
"""Pixels of an icon that is drawn; the largest of real programs have 256 x 256."""

ICON_BYTES_MAX = 1024 * 1024
"""Bytes of an icon as the file has it, and as PNG."""

ICONS_TRIED_MAX = 16
"""Icons of one file that are looked at for the largest one that can be drawn."""

SIGNATURE_BYTES_MAX = 4 * 1024 * 1024
"""Bytes of a signature: drivers with many nested ones have 200 kB."""

CERTIFICATES_MAX = 64
"""Certificates of one signature that are looked at."""

CERTIFICATE_CHAIN_MAX = 10
"""Certificates from a signer to its root; real chains have three or four."""

CERTIFICATE_CHECKS_MAX = 100
"""Signatures of certificates that are verified for one file, so that crossed names cannot make the
search for a chain long."""

UNIVERSAL_SLICES_MAX = 64
"""Architectures of a universal Mach-O file; real ones have two. Java classes have the same first
bytes, and a version above 40 in this place."""

TRUST_FILE_BYTES_MAX = 16 * 1024 * 1024
"""Bytes of the trusted and distrusted certificates; the roots of Windows have 1 MB."""

FILES_READ_A_ROUND = 50
"""Copies that one round of the background job reads: a second or two, so that a stop does not
wait."""

USAGE_HOSTS_MAX = 1_000
"""Hosts that the usage of a file lists; there may be more, which are counted."""

USAGE_RUNS_MAX = 200_000
"""Processes that the usage of a file looks at: shapes of so many command lines take a second."""

USAGE_VALUES_MAX = 50
"""Paths, parents, command lines, users and days of one usage: what people look through."""

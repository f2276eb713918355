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

SIGNATURE_ERROR_CHARS_MAX = 200
"""Characters of why a signature cannot be read: a parser may quote what it was given."""

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

BINARY_READING_ROUND_S = 30
"""Seconds after which a round begins no further copy: files that hang their reader must not hold
the job beyond its lease."""

USAGE_HOSTS_MAX = 1_000
"""Hosts that the usage of a file lists; there may be more, which are counted."""

BINARY_SEARCH_HASHES_MAX = 20_000
"""Hashes that a binary search carries from the rows that meet a test to their files: 640 kB. More
are looked up within one statement, which looks for them twice."""

USAGE_RUNS_MAX = 200_000
"""Processes that the usage of a file looks at: shapes of so many command lines take a second."""

USAGE_VALUES_MAX = 50
"""Paths, parents, command lines, users and days of one usage: what people look through."""

BINARY_ORDER_SENSORS_MAX = 3
"""Sensors that are asked for one file: one of them is soon online, and no others are bothered."""

BINARY_ORDER_PATHS_MAX = 8
"""Places where a sensor looks for a file that it is asked for."""

BINARY_ORDER_HOURS = 7 * 24
"""Hours that an order for a file waits for the sensor, unless the order says otherwise."""

BINARY_ORDER_HOURS_MAX = 30 * 24
"""Hours that an order for a file may wait: hosts that are away for longer are seldom the same."""

BINARY_ORDER_KEPT_US = 90 * 24 * 3600 * 1_000_000
"""How long orders for files are kept for those who ask how they ended; the audit log keeps them."""

BINARY_ORDERS_HANDED_MAX = 16
"""Orders for files in one answer to a sensor: what it may send at the same time."""

BINARY_ORDERS_OPEN_MAX = 2_000
"""Orders of a group that are open at the same time: what its sensors send in days."""

BINARY_RULE_ORDERS_MAX = 200
"""Orders that the rule of a group has open at the same time: a new image on a thousand hosts must
not fill the network with copies."""

BINARY_RULE_LOOKBACK_US = 600 * 1_000_000
"""How far back a program may have been seen first to be ordered by the rule of its group: longer
than a job is without a server that runs it."""

BINARY_RULE_SIGHTS_MAX = 2_000
"""Programs first seen that one round of the rule of a group looks at: a new host has as many."""

BINARY_RULE_ROUND_S = 5
"""Seconds between two looks for programs that were seen for the first time."""

BINARY_REFUSAL_CHARS_MAX = 256
"""Characters of a sensor's reason why it cannot send a file."""

BINARY_ROWS_MERGED_MAX = 10_000
"""Rows of files known by their SHA-256 alone that one round puts under their MD5: a second or two
of work."""

BINARY_MERGE_ROUND_S = 60
"""Seconds between two looks for files whose MD5 became known. A round that finds some rewrites the
parts that they are in."""

YARA_TEXTS_MAX = 500
"""Texts of YARA rules that people may add; each is a file of rules."""

YARA_TEXT_BYTES_MAX = 256 * 1024
"""Bytes of one text of YARA rules: public files of rules have under 100 kB."""

YARA_RULES_IN_TEXT_MAX = 2_000
"""Rules in one text."""

YARA_RULE_NAME_CHARS_MAX = 128
"""Characters of the name of a rule, which is a value of `alliance_data_yara`."""

YARA_CHECK_S = 15
"""Seconds in which a text has to be compiled before it is kept."""

YARA_CHECKS_MAX = 2
"""Texts that are compiled at the same time: each takes a core, and up to a gigabyte."""

YARA_SCAN_S = 5
"""Seconds that all rules may take for one file: 25 MiB take under one."""

YARA_RULE_S = 2
"""Seconds that one text may take for one file when all took too long; then it is stopped."""

YARA_APART_S = 60
"""Seconds of asking texts alone after which those that took too long are named: many of them would
take more than a file may."""

YARA_FILE_S = 120
"""Seconds of all scanning of one file, with each text compiled again when all took too long; then
the process that scans is ended."""

YARA_ALL_BYTES_MAX = 2 * 1024 * 1024
"""Bytes of all texts: the reading process compiles them when it starts, on a busy machine a
megabyte in 20 seconds."""

YARA_START_S = 180
"""Seconds more until a reading process with rules is ready."""

YARA_MATCHES_MAX = 100
"""Rules that one file is tagged with."""

COPY_THREADS = 4
"""Threads that take copies of programs: a bucket that hangs must not keep telemetry waiting."""

COPY_STORES_MAX = 3
"""Times that a copy is stored whose bytes go with an older copy that makes room just then: once
more is enough, unless that happens again."""

COPIES_EVICTED_MAX = 200
"""Copies of programs that may go for one that comes."""

BINARY_ADD_S = 120
"""Seconds that a server may take for one file that the command line adds."""

YARA_SCORE_MAX = 100
"""Score of a rule whose metadata has none, and the highest."""

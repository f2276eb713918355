"""Ingest: decoding and normalising records, and the context of their hosts."""

RECORD_BYTES_MAX = 1024 * 1024
"""Bytes of one telemetry record. Sysmon events are about 1.3 kB, script blocks up to 64 kB."""

RECORD_NESTING_MAX = 64
"""Levels of nesting of one JSON record; real ones have at most 6."""

TEXT_CHARS_MAX = 64 * 1024
"""Characters kept of one text value (a command line is at most 32,767 on Windows)."""

REFUSED_RECORD_BYTES_MAX = 2_000
"""Bytes kept of a record that was refused: enough to see what a sender does wrong."""

REFUSED_RECORDS_MAX = 32
"""Reasons whose last refused record is kept in memory; there are about twenty."""

AUDIT_LINE_CHARS_MAX = 128 * 1024
"""Characters read of one line of a Linux audit log. The kernel writes at most 8,970 bytes a line;
auoms puts a whole event with its command line into one."""

SYSLOG_PREAMBLE_BYTES_MAX = 1_024
"""Bytes that a syslog daemon or collector may write in front of an XML event."""

TIME_MIN_US = 0
"""Event times before 1970 are not believed (1601 is the zero FILETIME)."""

TIME_AHEAD_US = 24 * 3600 * 1_000_000
"""Event times more than a day ahead of the server's clock are not believed."""

HOST_PROCESSES_MAX = 2_048
"""Processes of one host that are kept to complete later records; the least recently used
go first. What is forgotten costs a repeated fact, never an event."""

HOST_IMAGES_MAX = 2_048
"""Files of one host that are kept as executed or loaded, so that each is reported once."""

HOST_NAMES_MAX = 2_048
"""Addresses of one host with the names that DNS answers gave them."""

ADAPTER_TEXTS_CACHED = 4_096
"""Lists of addresses of hosts whose form is kept: shippers repeat them in every record."""

HOST_LOGONS_MAX = 512
"""Logon sessions of one host whose type is kept."""

HOSTS_WHOLE_MAX = 128
"""Hosts that may each be kept up to the bounds above, about 4 MB; of more each may hold a
half, and of over four times as many a quarter."""

HOST_LOCAL_ADDRESSES_MAX = 64
"""Addresses that are believed to be the host's own."""

HOSTNAME_CHARS_MAX = 255
"""Characters of a host name (RFC 1035 has 253, NetBIOS 15)."""

CHANNEL_CHARS_MAX = 255
"""Characters of a channel name; Windows allows 255."""

DNS_ANSWER_LATE_US = 5_000_000
"""A DNS answer may be logged this long after the connection that used it."""

DNS_ANSWER_LASTS_US = 24 * 3600 * 1_000_000
"""For how long a DNS answer names an address."""

DNS_ANSWERS_PER_ADDRESS_MAX = 8
"""DNS answers that are kept for one address, the latest: names of a shared address change all the
time."""

LOGON_PROCESSES_MAX = 256
"""Processes of one logon session that a later event of the logon completes with its type."""

HOST_DEVICES_MAX = 32
"""Volumes of one host whose device names are matched with drive letters: there are 26 letters, and
a volume may get another number at a reboot. A path of an unknown device is compared with each."""

DEVICE_PATHS_MAX = 64
"""Paths of one volume that are kept to find its drive letter: a few suffice."""

CLOCK_OFFSET_HOURS_MAX = 26
"""Clock offsets beyond every time zone are not offsets but late or replayed records."""

SAME_START_US = 2_000_000
"""How far apart two reports of the start or the end of one process may be."""

ENDS_PER_PID_MAX = 8
"""Ends of processes that are kept for one pid, the latest: late records name recent processes."""

PROCESSES_PER_FILE_MAX = 8
"""Processes that are kept for one file, those that started last."""

PIDS_PER_PROCESS_MAX = 8
"""Pids under which one process is found: some sources give all that they cannot identify one id."""

FORMAT_MARK_BYTES = 256
"""Bytes of a record in which the marks of high-volume formats are searched."""

MEMBER_SETS_CACHED_MAX = 1_024
"""Sets of member names whose possible formats are cached; names are chosen by the sender."""

MEMBER_SET_NAMES_MAX = 32
"""Names of a set that is cached; larger sets are looked up each time."""

MEMBER_SET_CHARS_MAX = 1_024
"""Characters of a set that is cached, for the same reason."""

HOST_PREFILTER_PREFIX_BYTES = 8
"""Texts of one request with the same first bytes name their host in the same member."""

HOST_PREFILTER_NAME_BYTES_MAX = 256
"""Bytes that are searched for the end of a host name; host names have at most 255."""

INFLATE_PIECE_BYTES = 256 * 1024
"""Input bytes per step; small, so that the rest after a gzip member is cheap to copy."""

INFLATE_STEP_BYTES = 1024 * 1024
"""Output bytes per step. A step is copied under the interpreter lock, which the event loop needs;
256 MB of output at once kept it for half a second."""

GAP_STEP_BYTES = 1024 * 1024
"""Bytes of blank space that are skipped at once, under the interpreter lock as well."""

INFLATE_ZSTD_PIECE_BYTES = 1024
"""Input bytes per step of zstd, whose decompressor does not bound its output: 4 bytes can expand to
128 kB, so a step exceeds the limit by at most 32 MB."""

XML_TAG_BYTES_MAX = 4_096
"""Bytes that are searched for the end of an XML tag: no scan runs through a whole body for each
`<`."""

EVENT_MESSAGE_CHARS_MAX = 1_024
"""Characters of a Security event's message that are searched for its first value: it stands at the
beginning."""

HOST_RECORDS_WAITING_MAX = 10_000
"""Records of one host that wait for learning; a batch has fewer."""

CLOCK_SAMPLE_RECORDS = 16
"""One of so many records that need no time to learn from is sampled for the clock's offset:
decoding all would cost more than it is worth."""

UNKNOWN_FORMAT_NAMES_MAX = 8
"""Member names that the error for an unknown format lists: enough to recognise the source."""

UNKNOWN_FORMAT_CHARS_MAX = 200
"""Characters of that list: names are chosen by the sender."""

TIMES_CACHED_MAX = 32_768
"""Entries per cache of parsed times; four digits and a zone make 10,000 endings."""

TIME_TEXT_CHARS_MAX = 40
"""Longer texts are no valid times and are not cached."""

MEMOIZED_CHARS_MAX = 512
"""Characters of a text whose conversion is cached; longer texts are converted each time, so that
memory stays small."""

SID_CHARS_MAX = 60
"""Characters of a Windows security id; longer text is none."""

NETBIOS_CHARS_MAX = 15
"""Characters of a NetBIOS name: a longer host name is cut in the names of its accounts."""

ADDRESS_TEXTS_CACHED_MAX = 65_536
"""Addresses whose text is cached: most telemetry names a few thousand."""

AUDIT_IDS_CACHED_MAX = 16_384
"""Ids of audit events that are cached in parsed form: every event references the starts of its
process and parent."""

GUID_START_US_MIN = 1_388_534_400_000_000
"""Earliest start that is read out of a ProcessGuid, 2014-01-01: Sysmon's first release is of August
2014, and GUIDs of version 4, which generators make up, name times up to 2012."""

GUID_START_US_MAX = (1 << 31) * 1_000_000
"""Where starts out of a ProcessGuid end, 2038: beyond it lie GUIDs that are filled with `f`."""

RECORD_DEPTH_MAX = 100
"""Levels of a record's data that are looked through for secrets; what lies deeper is dropped. No
format has more than 10."""

SECRET_PATTERNS_MAX = 32
"""Patterns for secrets of one sensor group: each is asked of every text of its records."""

SECRET_PATTERN_CHARS_MAX = 1_000
"""Characters of one of them."""

SECRET_PATTERN_PROGRAM_BYTES_MAX = 1 << 20
"""Memory of one of them, compiled: RE2 refuses what would need more."""

"""Policy: groups, ingress filters and bans."""

MEMBER_CHARS_MAX = 1_000
"""Characters of one text in the body of a group or an ingress filter."""

INGRESS_FILTERS_MAX = 10_000
"""Ingress filters of a server."""

INGRESS_PATTERNS_MAX = 1_000
"""Entries of one list of an ingress filter."""

INGRESS_PATTERN_CHARS_MAX = 4_096
"""Characters of one entry; a path has at most 32,767, and nobody writes one out."""

INGRESS_PRIORITY_MAX = (1 << 31) - 1
"""Highest priority of an ingress filter, and with a minus sign the lowest."""

DRY_RUN_PROCESSES_MAX = 500_000
"""Processes that a filter is tried on before it is stored; the newest ones."""

DRY_RUN_EVENT_PROCESSES_MAX = 200
"""Processes whose single events are looked at in such a trial; each costs reading its events."""

DRY_RUN_SPLIT_MAX = 10
"""Hosts, programs and kinds of events of which such a trial says how much of them is dropped; of
more those with the most."""

DRY_RUN_PROGRESS_EVERY = 10_000
"""Processes after which such a trial says how far it is, and looks whether anybody waits for it."""

DRY_RUN_S = 180.0
"""Seconds that such a trial may take, with what goes blind by it."""

DRY_RUN_READ_SHARE = 0.5
"""Part of that time after which no more processes are looked at: the rest is for what goes
blind."""

DRY_RUN_PROGRESS_S = 0.5
"""Seconds between two lines about the progress of a trial."""

RUNNING_PROCESS_SEEN_US = 24 * 3600 * 1_000_000
"""A process that has not ended counts as running when it reported within this time."""

GROUP_LIST_MAX = 1_000
"""Objects of one list in the body of a group, such as `team_access`; bounds the work of one
request."""

INGRESS_DESCENDANT_LEVELS_MAX = 64
"""Generations of descendants that an ingress filter can name: chains of processes are shorter."""

INGRESS_IDS_MAX = 10_000
"""Ids in one list of an ingress filter; bounds the work of one request."""

DRY_RUN_EVENTS_MAX = 10_000
"""Events of one process that a trial of a filter reads; bounds its time."""

BAN_REASON_CHARS_MAX = 10_000
"""Characters of the reason of a ban."""

FILTER_AUDIT_ENTRIES_MAX = 5_000
"""Entries of the audit log that the list of ingress filters reads for what goes blind with them."""

FILTERS_COUNTED_MAX = 500
"""Ingress filters of the list for which the console reads what goes blind with them, and which
sensors have not fetched them."""

FILTER_RATE_MINUTES = 15
"""Minutes over which `hit_rate` of an ingress filter is counted."""

INGRESS_SAMPLE_CHARS_MAX = 32_767
"""Characters of each text that a filter is tried on: the longest path of Windows."""

FILTER_DROPPED_HOURS = 24
"""Hours over which what an ingress filter dropped is counted, the one that runs among them."""

GROUP_CHECKIN_MIN_S = 5
"""Shortest interval of check-ins that a group can set: each costs the server some milliseconds."""

GROUP_CHECKIN_MAX_S = 3_600
"""Longest interval of check-ins that a group can set: orders reach its sensors within an hour."""

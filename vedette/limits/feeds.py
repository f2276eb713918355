"""Feeds of threat intelligence: fetching, stored content of reports, and matching."""

FEED_TEXT_CHARS_MAX = 100_000
"""Maximum characters of a text member of a feed, such as its summary."""

FEED_ICON_CHARS_MAX = 1_000_000
"""Maximum characters of an icon in base64. Published feeds have up to 300,000."""

FEED_HEAD_S = 20.0
"""Time to read the description of a new feed, while the request that adds it waits."""

FEED_PIECE_BYTES = 64 * 1024
"""Bytes read at a time from a document: far less than a report, but large compared with the cost of
a read call."""

REPORT_IOCS_MAX = 100_000
"""Maximum indicators of a report. All are in memory while it is read."""

REPORT_TEXT_CHARS_MAX = 100_000
"""Maximum characters of the title, description or link of a report."""

REPORT_TAGS_MAX = 1_000
"""Maximum tags of a report."""

FEED_ERRORS_MAX = 1_000
"""Maximum errors of a synchronization that are stored with their position. All are counted."""

FEED_ERROR_CHARS_MAX = 500
"""Maximum characters of a stored error."""

FEED_URL_SHOWN_CHARS = 200
"""Maximum characters of a feed's URL in an error."""

REPORT_IOCS_SHOWN_MAX = 1_000
"""Maximum indicators listed in the object of a report."""

FEED_NAME_CHARS_MAX = 60
"""Maximum characters of a feed's internal name, which is part of the names of search fields."""

REPORTS_IGNORED_BATCH = 500
"""Reports that a transaction of the state database ignores. Each adds an audit entry."""

REPORTS_CHANGED_BATCH = 10_000
"""Maximum reports that a statement changes. Their ids are bound in it."""

INDICATOR_HITS_PAGE = 20_000
"""Hits in memory at a time. They are tagged and written together; a group of rows may have many
such pages."""

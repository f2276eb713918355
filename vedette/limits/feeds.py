"""Feeds of threat intelligence: what is fetched, kept of a report, and matched."""

FEEDS_MAX = 1_000
"""Feeds of a server; each is fetched by one thread, in turn."""

FEED_URL_CHARS_MAX = 4_096
"""Characters of a feed's URL."""

FEED_TEXT_CHARS_MAX = 100_000
"""Characters of a text member of a feed, such as its summary."""

FEED_ICON_CHARS_MAX = 1_000_000
"""Characters of an icon in base64; published feeds have up to 300,000."""

FEED_SECRET_CHARS_MAX = 100_000
"""Characters of a password, certificate chain or key of a feed."""

FEED_HEAD_BYTES_MAX = 4 * 2**20
"""How much of a document is read for the description of a new feed."""

FEED_CONNECT_S = 15.0
"""Time to connect to the server of a feed, and for TLS."""

FEED_READ_S = 60.0
"""Time that the server of a feed may stay silent in the middle of a document."""

FEED_HEAD_S = 20.0
"""Time to read the description of a new feed, while the request that adds it waits."""

FEED_TRIAL_ERRORS = 20
"""Broken parts that the trial of a feed names; all are counted."""

FEED_TRIAL_REPORTS = 5
"""Titles of reports that the trial of a feed shows."""

FEED_REDIRECTS_MAX = 5
"""Redirects that are followed from a feed's URL."""

FEED_RESUMES_MAX = 3
"""How often a broken transfer is resumed where it ended."""

FEED_PIECE_BYTES = 64 * 1024
"""Piece in which a document is read: far less than a report, far more than a call costs."""

FEED_PAGES_MAX = 100_000
"""Pages of one TAXII collection or MISP feed; a server that never ends is given up."""

FEED_PAGE_OBJECTS = 1_000
"""Objects asked for in one page of a TAXII collection."""

REPORT_BYTES_MAX = 32 * 2**20
"""JSON of one report: all of it is in memory while it is read."""

REPORT_IOCS_MAX = 100_000
"""Indicators of one report: all of them are in memory while it is read."""

REPORT_TEXT_CHARS_MAX = 100_000
"""Characters of the title, description or link of a report."""

REPORT_TITLE_OF_PATTERN_CHARS = 200
"""Characters of a pattern that are the title of a report without one."""

REPORT_TAGS_MAX = 1_000
"""Tags of a report."""

REPORT_JSON_DEPTH_MAX = 200
"""Nesting of JSON inside one report; deeper ones are refused before they are read."""

IOC_QUERY_CHARS_MAX = 100_000
"""Characters of the query of an indicator."""

LIST_LINE_BYTES_MAX = 64 * 1024
"""Line of a list of indicators; longer ones are skipped."""

LIST_HEAD_LINES = 200
"""Lines of the beginning of a text, of which one with an indicator makes it a list."""

SYNC_REPORTS_BATCH = 2_000
"""Reports that are stored by one insert of a synchronisation."""

SYNC_IOCS_BATCH = 50_000
"""Indicators after which a batch of reports is stored, however few they are."""

SYNC_LEASE_S = 120.0
"""How long a server may be silent in a synchronisation before another one takes it over."""

SYNC_RETRY_S = 60.0
"""Wait after a failed synchronisation; doubled for each further failure."""

SYNC_RETRY_S_MAX = 3_600.0
"""Longest wait after failed synchronisations."""

FEED_ERRORS_MAX = 1_000
"""Errors of one synchronisation that are kept with their place; all are counted."""

FEED_ERROR_CHARS_MAX = 500
"""Characters that are kept of an error."""

FEED_URL_SHOWN_CHARS = 200
"""Characters of a feed's address in an error."""

REPORT_LIST_ROWS_MAX = 10_000
"""Reports of one answer of `/api/v1/feed/{id}/report`."""

REPORT_UPDATE_IDS_MAX = 100_000
"""Reports that one request names to ignore."""

REPORT_IOCS_SHOWN_MAX = 1_000
"""Indicators that the object of a report lists."""

NETWORK_BITS_MIN_IPV4 = 8
"""Shortest prefix of an indicator that is a network: a shorter one matches a large share of all
connections."""

NETWORK_BITS_MIN_IPV6 = 16
"""The same for IPv6."""

FEED_NAME_CHARS_MAX = 60
"""Characters of a feed's internal name, which is part of the names of search fields."""

REPORTS_CHANGED_BATCH = 10_000
"""Reports that one statement changes; their ids are bound in it."""

INDICATOR_ROUND_S = 2
"""Time between two rounds of matching indicators: hits are reported within seconds."""

INDICATOR_ROWS_A_ROUND = 100_000
"""Rows of commits that are matched at once; their hits are in memory."""

INDICATOR_ROUND_GROUPS = 20
"""Groups of commits of one round, so that the stored past has its turn."""

INDICATOR_PAST_ROWS = 200_000
"""Stored segments that one step of the past reads."""

INDICATOR_PAST_STEPS = 5
"""Steps of the past in one round: bounds how long new commits wait."""

INDICATOR_HITS_PAGE = 20_000
"""Hits that are in memory at once: tagged and written together; those of one group of rows may be
many such pages."""

RECORD_VALUE_CHARS_MATCHED = 512
"""Characters of a value of a kept record that indicators are looked for in; longer ones are scripts
and messages."""

INDICATOR_RELOAD_S = 60.0
"""Time after which keys are read anew although no feed changed: indicators expire."""

INDICATOR_QUERIES_MAX = 500
"""Indicators that are queries and are asked; each costs some 40 milliseconds a round."""

INDICATOR_QUERY_S = 10.0
"""Longest time of one such query; a slower one is asked of the rows in parts."""

INDICATOR_QUERY_ROUND_S = 60.0
"""Time after which no more parts are made for one query; it is stopped then."""

FEED_ERRORS_SHOWN = 100
"""Errors of a document that `vedette feed validate` prints; all are counted."""

FEED_REQUEST_S = 120.0
"""Time that `vedette feed` waits for an answer of the server, which may be fetching a document."""

REPORT_EXPORT_ROWS = 500
"""Reports that `vedette feed export` asks for at once."""

IOC_CHARS_SHOWN = 1_000
"""Characters of an indicator that tags and alerts carry; only queries are longer."""

DNS_NAME_CHARS_MAX = 253
"""Characters of a DNS name, as the protocol has it."""

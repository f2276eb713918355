"""Rules: files of rules, and what is cached of events."""

SIGMA_FILE_CHARS_MAX = 1024 * 1024
"""Characters of one file of Sigma rules; the longest public rule has 25 kB."""

SIGMA_FILES_MAX = 50_000
"""Files of rules under one path; the public set has 3,800."""

SIGMA_REQUEST_FILES_MAX = 5_000
"""Files of rules in one request; the public set has 3,800."""

SIGMA_REQUEST_BYTES_MAX = 6 * 1024 * 1024
"""Of the files that the console sends in one request; as JSON they stay within its body."""

SIGMA_MATCHED_CHARS_SHOWN = 200
"""Characters of a matched value that the table of `vedette sigma scan` shows; JSON has it whole."""

ANCHOR_CHARS_MIN = 2
"""Characters of a literal that a rule is looked up by; shorter ones occur nearly everywhere."""

DETECT_CACHED_VALUE_CHARS_MAX = 1_024
"""Characters of an event's value whose candidate rules are cached; longer ones seldom repeat."""

DETECT_CACHE_CHARS_MAX = 16 * 1024 * 1024
"""Characters of all values whose candidate rules are cached, in each process that judges events."""

DETECT_CACHED_VALUE_COST_CHARS = 100
"""What a cached value costs in addition to its characters."""

DETECT_SOURCES_CACHED_MAX = 4_096
"""Log sources of a channel, an event id and a variant that are cached: all that occur."""

DETECT_SAMPLE_EVENTS = 4_096
"""Events from whose values rules choose what they are looked up by."""

SIGMA_RULE_TESTS_MAX = 20_000
"""Tests of one rule's condition; the largest public rule has about 1,500."""

SIGMA_EXPANSIONS_MAX = 2_000
"""Combinations of the values of placeholders in one value of a rule, or in one selection."""

SIGMA_PLACEHOLDERS_MAX = 200
"""Placeholders that have values; public rules know about 20."""

SIGMA_PLACEHOLDER_VALUES_MAX = 1_000
"""Values of one placeholder, such as the names of all administrators."""

SIGMA_VERSIONS_KEPT = 20
"""Earlier texts of one rule; a set of rules changes each of them a few times a year."""

SIGMA_TITLE_CHARS_MAX = 500
"""Characters of a title; pySigma allows rules 256."""

SIGMA_PROBLEM_CHARS_MAX = 500
"""Characters that are kept of why a text is no rule."""

SIGMA_RULES_MAX = 20_000
"""Sigma documents of a server; the public set has 3,800."""

SIGMA_IDS_A_QUERY = 500
"""Ids of rules in one statement of the state database."""

SIGMA_DELETED_KEPT_US = 24 * 3600 * 1_000_000
"""How long the text of a deleted rule is kept, so that alerts of its last hits can show it."""

RULE_COST_SAMPLE = 64
"""Of so many comparisons of an event with a rule one is timed: reading the clock takes a tenth of
what a comparison does."""

RULE_HITS_A_COMMIT_MAX = 1_000
"""Processes and records of one commit that one rule is noted for; the rest are counted with the
first. A commit has up to 50,000 events, and who reads alerts gives up long before."""

RULE_HIT_CHARS_MAX = 65_536
"""Characters of all values of an event that are kept with a hit."""

RULE_HIT_VALUE_CHARS_MAX = 8_192
"""Characters of one value that are kept with a hit; a command line of Windows has 32,767."""

RULE_HIT_NAME_CHARS_MAX = 256
"""Characters of the name of such a value."""

CORRELATION_TIMESPAN_S_MAX = 7 * 24 * 3600
"""Longest span of a correlation rule: what lies in it is kept."""

CORRELATION_COUNT_MAX = 10_000
"""Greatest number that a correlation rule may compare a count with: so much is kept of a group."""

SIGMA_PARSER_BYTES_MAX = 1024 * 1024 * 1024
"""Address space of the process that parses rules; it takes a fifth of that for the public set."""

SIGMA_FILE_CPU_S = 20
"""CPU seconds for one file of rules; public ones take 1 ms."""

SIGMA_FILE_S = 60.0
"""Seconds that one file may take, with the start of the process that parses it."""

SIGMA_PARSERS_LOST_MAX = 10
"""Files of one import that may be too costly before it is given up."""

SIGMA_ANSWER_BYTES_MAX = 256 * 1024 * 1024
"""Bytes of the parsed documents of one file."""

RULE_HITS_A_ROUND = 5_000
"""Hits that become alerts in one transaction, of whole commits; one commit may have more."""

RULE_TRIAL_PROCESSES_MAX = 200_000
"""Processes that a trial of rules remembers the metadata of."""

RULE_PAST_RULES_MAX = 100
"""Rules that one request may try on the stored past."""

RULE_PAST_DAYS = 7
"""Days of the stored past that rules are tried on unless the request says otherwise."""

RULE_PAST_STEP_S = 900
"""Seconds of the first step into the stored past; each is twice as long as the one before, and one
that runs out of time counts for nothing."""

RULE_PAST_HITS_MAX = 100_000
"""Hits after which a trial on the stored past ends: nobody wants a rule that fires so often."""

RULE_PAST_STEP_HITS_MAX = 500_000
"""Hits of one step, which is kept in memory until it is over."""

RULE_PAST_SAMPLES = 20
"""Hits that a trial on the stored past shows."""

RULE_PAST_HOSTS = 100
"""Hosts that it names, those with the most hits."""

RULE_PAST_LITERALS_MAX = 200
"""Texts that a column of the store is searched for at once; the engine takes 255."""

RULE_QUERY_BYTES_MAX = 16_384
"""Of the query that a rule is written as; a longer one fits into no address of a search."""

SIGMA_ROWS = 100
"""Sigma rules of one answer, where the request does not say."""

SIGMA_ROWS_MAX = 1_000
"""Sigma rules of one answer."""

RULE_TRIAL_EVENTS_MAX = 10_000
"""Records that one request may try rules on."""

SIGMA_PARSERS_MAX = 2
"""Processes that parse rules at once; further requests wait."""

SIGMA_PARSER_WAIT_S = 30.0
"""Seconds that a request waits for its turn to have rules parsed."""

CORRELATION_HITS_MAX = 1_000
"""Hits that a group of a correlation by values or rules remembers; the oldest go first."""

CORRELATION_GROUPS_MAX = 100_000
"""Groups that one correlation rule remembers; the oldest are forgotten first."""

CORRELATION_LATE_US = 24 * 3600 * 1_000_000
"""How long a group is kept after its span: events of hosts that were away come later."""

CORRELATION_DEPTH_MAX = 4
"""Correlations of correlations: so many levels."""

RULE_BUDGET_WINDOW_S = 60
"""Seconds over which the cost of a rule is compared with its budget."""

RULE_BUDGET_SHARE = 0.25
"""Share of one processor that a rule may take. A rule that is compared with every event of 10,000
endpoints takes a tenth; a regular expression over long scripts can take any."""

RULE_STOPPED_SEVERITY = 60
"""Severity of the alert that says that a rule was stopped."""
ANCHORS_KNOWN_MAX = 200_000
"""Anchors whose frequency a worker remembers over changes of the rules; all public rules have some
40,000."""

REGEX_LITERAL_CHARS_MAX = 10_000
"""Characters of a pattern that is read for the literals in it."""

REGEX_LITERAL_DEPTH_MAX = 20
"""Groups within groups of such a pattern."""

PREDICATE_DEPTH_MAX = 30
"""Conditions within conditions of a rule that is made into one expression; the compiler allows
about 100."""

CONTAINED_LITERALS_MAX = 12
"""Literals that are looked for one by one; more are looked for by an automaton."""

NETWORK_ADDRESSES_MEMOIZED = 16_384
"""Addresses that are cached as numbers."""

DETECT_CLASSES_MAX = 2_000
"""Sets of classes and event ids that rules are looked up by, each with automata of its own; a fleet
has some hundreds."""

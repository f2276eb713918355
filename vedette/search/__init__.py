"""The read path: maps a request and the caller's scope to values. `web` renders the values as JSON.

search_request.py       parameters of a search
query_guards.py         queries that a server refuses by its settings
deadline.py             fallback for a search that exceeds its deadline
comprehensive.py        whether a search by segment equals a search by process
partition_coverage.py   whether unmounted partitions may hold further results
explain.py              explanation of a query
bounded_engine.py       the engine with a deadline and a share of the readers
document_search.py      shared part of the searches of alerts, binaries and reports
lookup.py               processes, hosts and alerts with a pasted value
suggest.py              completion of a query while the user types
tagged.py               tags of result rows
processes/              process search, highlights, summaries and events of one process
events/                 facets, preview and timeline of one process's events
streams/                cursors over one process's events
tree/                   ancestors and descendants
alerts/                 alert search, groups, previews, risk of hosts
binaries/               binary search, summary, frequency
reports/                search of threat reports
completeness/           whether the store holds everything that was sent
"""

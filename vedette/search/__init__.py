"""The read path: a request and the caller's scope -> values. JSON is made in `api/schemas`.

search_request.py       the parameters of a search
query_guards.py         which queries a server refuses by its settings
deadline.py             fallback of a search that runs out of time
comprehensive.py        whether searching by segment gives the same as searching by process
partition_coverage.py   whether unmounted partitions may hold further results
explain.py              explanation of a query

processes/              process search, highlights, summaries and events of one process
events/                 facets, preview and timeline of one process's events
streams/                cursors over one process's events
tree/                   ancestors and descendants
binaries/               binary search, summary, frequency
"""

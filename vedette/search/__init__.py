"""The read path: requests to values, values to what the store finds, findings to API bodies.

search_request.py        parameters -> SearchRequest
search/processes/process_search.py            SearchRequest -> body of a search
search/processes/process.py        one process: summary, segments, events
search/binaries/binary_search.py         binaries: search, summary, how common they are
search/bodies/binary.py    row -> binary object
search/bodies/process.py   row -> process object
search/bodies/search_results.py      what stands around results
search/bodies/facets.py    counted facets -> lists of entries
search/processes/highlights.py     page -> values with what was found in them between markers
comprehensive.py   whether an answer by segments is one by processes
partition_coverage.py       whether unmounted partitions may be missed
deadline.py       what a search does that runs out of time
search/bodies/events.py    event -> string or object, by version
search/bodies/wire_values.py    times, and text between pipes
"""

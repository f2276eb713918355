"""The read path: requests to values, values to what the store finds, findings to API bodies.

request.py        parameters -> SearchRequest
run.py            SearchRequest -> body of a search
process.py        one process: summary, segments, events
binary.py         binaries: search, summary, how common they are
binary_body.py    row -> binary object
process_body.py   row -> process object
responses.py      what stands around results
facet_lists.py    counted facets -> lists of entries
highlights.py     page -> values with what was found in them between markers
segmentation.py   whether an answer by segments is one by processes
coverage.py       whether unmounted partitions may be missed
patience.py       what a search does that runs out of time
events_wire.py    event -> string or object, by version
wire_values.py    times, and text between pipes
"""

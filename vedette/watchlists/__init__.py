"""Watchlists: stored queries that run over all new telemetry (docs/watchlists.md).

watch_query.py    a stored query as checked tree, and the columns it reads
anchors.py        values that a document must have to match
candidates.py     documents of a batch that each watchlist must examine
judge.py          hits of watchlists among the documents of a batch, and their costs
batch.py          documents in memory, by column and by value
documents.py      documents of the store as batches
finder.py         hits of all watchlists among touched documents
hits.py           tags and detections for hits
rounds.py         the round: documents that commits touched since the watermark
past.py           stored telemetry for a new watchlist
backtest.py       preview of a query's hits
blinded.py        watchlists that would miss hits with an ingress filter in force
silent_fields.py  fields of queries that no stored document has
"""

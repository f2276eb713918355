"""Watchlists: stored queries that are asked of all that is new (docs/watchlists.md).

watch_query.py   a stored query as checked tree, and what it needs
anchors.py       which values a document must have to match
candidates.py    the documents of a batch that each watchlist has to look at
judge.py         hits of watchlists among the documents of a batch, and what each cost
batch.py         some documents, by column and by value
documents.py     documents of the store as batches
finder.py        hits of all watchlists among what was touched
hits.py          tags and detections of hits
rounds.py        the round: what commits touched since the watermark
past.py          the stored past of a watchlist that is new
backtest.py      what a query would have hit
blinded.py       watchlists that would miss hits if an ingress filter were in force
"""

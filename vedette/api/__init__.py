"""HTTP: the only package that imports the web framework.

app.py            routers in order; `create_app(services)`
access.py         every route and the right it needs
conduct.py        request ids, metrics, the access log, bugs
failures.py       errors -> statuses and bodies
telemetry.py      request -> Submission
bulk_answer.py    Receipt -> the answer of `_bulk`
routes/           one file a group of routes; handlers are short and call `search` or `pipeline`
"""

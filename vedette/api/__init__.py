"""HTTP: the only package that imports the web framework.

app.py            routers in order; `create_app(services)`
api/http/access.py         every route and the right it needs
api/http/middleware.py        request ids, metrics, the access log, bugs
api/http/error_responses.py       errors -> statuses and bodies
telemetry_request.py      request -> Submission
api/schemas/bulk_response.py    Receipt -> the answer of `_bulk`
routes/           one file a group of routes; handlers are short and call `search` or `pipeline`
"""

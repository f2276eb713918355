"""HTTP: the only package that imports the web framework.

app.py                 routers in order; `create_app(services)`
services.py            what routes can reach
search_pool.py         admission, threads and cancellation of searches
telemetry_request.py   request -> Submission
http/                  access table, middleware, errors -> statuses, bodies with limits
schemas/               every JSON shape, in and out; schemas/search: searches and processes
routes/                one file a group of routes; short handlers that call `search` or `pipeline`
"""

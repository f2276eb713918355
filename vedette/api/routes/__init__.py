"""The routes of the HTTP API, a package an area."""

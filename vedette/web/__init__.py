"""The HTTP API and the console: a folder per area on top of shared transport, page and JSON
modules."""

"""The reference pages of `docs/reference/`, made from the code: `make docs` writes them.

pages.py      the pages in order
settings.py   fields.py   commands.py   routes.py   errors.py   metrics.py   limits.py
source.py     what is only in the source text: reasons and metrics that are literals in it
markdown.py   tables, wrapped text; quantity.py: numbers as people read them

Nothing here reads a clock, a path or the environment: the same code gives the same bytes, and
`tests/house/test_docs.py` compares them with what is committed.
"""

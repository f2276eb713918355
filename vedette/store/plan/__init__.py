"""How a search is run: `choose.py` picks a `Plan`; scope, bounds and index lookups serve it."""

"""Plans of searches: `choose.py` picks a `Plan`, using scope, bounds and index lookups."""

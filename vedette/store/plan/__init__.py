"""How a search is run: scope, bounds, index pruning, the choice of a plan."""

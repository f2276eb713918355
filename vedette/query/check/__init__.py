"""Type checking: converts each leaf of a query into tests of columns."""

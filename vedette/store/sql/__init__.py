"""Fragments of SQL made from the catalogue: column lists, scope, FROM clauses."""

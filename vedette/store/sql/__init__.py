"""Fragments of SQL generated from the catalogue: column lists, scope, FROM clauses."""

"""Reads files for the import: everything under a path, as one sequence of records in the order of
their events."""

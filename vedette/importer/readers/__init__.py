"""Reader processes of an import."""

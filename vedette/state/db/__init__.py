"""The SQL databases, their schema, and small shared tables."""

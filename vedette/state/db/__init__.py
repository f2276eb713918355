"""Access to the SQL databases, their schema, and small shared tables."""

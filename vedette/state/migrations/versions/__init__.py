"""One module a version of the state database's schema, never changed once released."""

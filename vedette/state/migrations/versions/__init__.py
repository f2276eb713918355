"""One module per version of the state database's schema, never changed after its release."""

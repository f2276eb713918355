"""Per-host state learned from records, used to complete later records."""

"""One commit: decode, deduplicate, learn, normalise, filter, fold, assign to segments."""

"""Processing of one commit: decode, deduplicate, learn, normalize, filter, fold, assign to
segments."""

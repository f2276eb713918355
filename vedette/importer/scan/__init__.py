"""Headers and boundaries of records, found without decoding."""

"""Request bodies: budgets, decompression, parsing."""

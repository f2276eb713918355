"""How a server is copied while it runs, and made again from a copy."""

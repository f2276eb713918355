"""HTTP itself: middleware, authentication and access, errors, bodies, the fast path."""

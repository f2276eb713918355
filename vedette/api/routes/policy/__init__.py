"""Routes of bans and ingress filters."""

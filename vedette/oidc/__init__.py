"""Whom does another server vouch for? Sign-in by OpenID Connect: authorization code with PKCE."""

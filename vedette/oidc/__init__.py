"""Sign-in by OpenID Connect: authorization code flow with PKCE."""

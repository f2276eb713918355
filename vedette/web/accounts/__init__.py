"""Users, teams, tokens, sessions, identity providers, and the audit log."""
